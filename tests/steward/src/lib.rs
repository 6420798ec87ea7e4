//! A guest that does what the greeter does not: it reads what may be absent, lists, deletes what it has
//! listed, applies sets that shrink and fields that come and go, and needs two calls to finalize.
//!
//! A Bookcase says which books there are to be. Each is a ConfigMap `<bookcase>-<book>`, with the bookcase's mood if
//! it has one. The status says what the catalog, a ConfigMap that somebody else may make, is called, and
//! which notes there are: ConfigMaps with the label `note-of: <bookcase>`. Notes that have expired are deleted. Each pass
//! patches an annotation of the Bookcase, which has it already but for the first time.
//! `tally-<uid>`, which nobody owns, says that the Bookcase is there; `finalize` writes into it that it goes, and
//! takes it away when it is called again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_sdk::{
    Action, Cluster, Failure, Finalize, ListQuery, Manifest, Needs, Object, ObjectRef, Patch,
    Progress, Reconciler, export, manage,
};

/// How soon it goes on finalizing.
const SOON: Duration = Duration::from_millis(500);

/// The kind of `bookcase.crd.yaml`.
type Bookcase = Object<Spec, Status>;

/// What is wanted.
#[derive(Deserialize)]
pub struct Spec {
    #[serde(default)]
    books: Vec<String>,
    #[serde(default)]
    mood: String,
}

/// What was observed.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    observed_generation: i64,
    catalog: String,
    notes: Vec<String>,
}

/// The controller.
#[derive(Default)]
pub struct Steward;

impl Reconciler for Steward {
    const WATCHES: (&'static str, &'static str) = ("tests.windlass.dev/v1", "Bookcase");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    const WRITES_STATUS: bool = true;
    type Object = Bookcase;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, bookcase: &Bookcase, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let catalog: Option<Value> = cluster.find(&config_map(bookcase, "catalog"))?;
        let catalog = catalog
            .as_ref()
            .map_or("none", |map| text(map, "/data/title"));
        let notes = notes(bookcase, cluster)?;
        let title = format!("of {}", bookcase.name());
        let books = bookcase.spec.books.iter().map(|book| {
            let name = format!("{}-{book}", bookcase.name());
            let book = bookcase
                .child("v1", "ConfigMap", name)
                .data("title", &title);
            match bookcase.spec.mood.as_str() {
                "" => book,
                mood => book.data("mood", mood),
            }
        });
        cluster.apply_set(books)?;
        cluster.apply(Manifest::new(&tally(bookcase)).data("of", bookcase.name()))?;
        // Mostly it is there already.
        let kept = json!({ "metadata": { "annotations": { "tests.windlass.dev/kept": "true" } } });
        cluster.patch(&bookcase.reference(), &Patch::Merge(kept))?;
        let status = Status {
            observed_generation: bookcase.metadata.generation,
            catalog: catalog.to_owned(),
            notes,
        };
        cluster.apply_status(bookcase, status)?;
        Ok(Action::AwaitChange)
    }
}

impl Steward {
    /// First the tally says that it goes, then it goes.
    fn finalize(&self, bookcase: &Bookcase, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        let there: Option<Value> = cluster.find(&tally(bookcase))?;
        if let Some(map) = there
            && text(&map, "/data/closing").is_empty()
        {
            let closing = Manifest::new(&tally(bookcase)).data("of", bookcase.name());
            cluster.apply(closing.data("closing", "true"))?;
            return Ok(Progress::Pending(SOON));
        }
        cluster.delete(&tally(bookcase))?;
        Ok(Progress::Done)
    }
}

/// The names of the notes that stay; the others are deleted.
fn notes(bookcase: &Bookcase, cluster: &dyn Cluster) -> Result<Vec<String>, Failure> {
    let namespace = bookcase.metadata.namespace.as_deref().unwrap_or_default();
    let query = ListQuery::all("v1", "ConfigMap").in_namespace(namespace);
    let maps: Vec<Value> = cluster.list(&query.labelled(format!("note-of={}", bookcase.name())))?;
    let (gone, stay): (Vec<_>, Vec<_>) = maps
        .iter()
        .partition(|map| text(map, "/data/expired") == "true");
    for note in gone {
        cluster.delete(&config_map(bookcase, text(note, "/metadata/name")))?;
    }
    let mut names: Vec<String> = stay
        .into_iter()
        .map(|note| text(note, "/metadata/name").to_owned())
        .collect();
    names.sort();
    Ok(names)
}

fn text<'a>(map: &'a Value, path: &str) -> &'a str {
    map.pointer(path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn tally(bookcase: &Bookcase) -> ObjectRef {
    config_map(bookcase, &format!("tally-{}", bookcase.metadata.uid))
}

fn config_map(bookcase: &Bookcase, name: &str) -> ObjectRef {
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: name.to_owned(),
        ..bookcase.reference()
    }
}

export!(Steward);
