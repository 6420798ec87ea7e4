//! `windlass pause`, `resume` and `reconcile`: sets the annotations on an object that its host follows.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::admin::folder;
use windlass_base::error::Chain;
use windlass_base::screen::print;
use windlass_base::seams::Seams;
use windlass_kube::api::{Discovery, Request, Resource};
use windlass_kube::connect::ClusterFlags;
use windlass_kube::connect::connect;
use windlass_kube::flags::object_name;
use windlass_kube::object::{PAUSED, REQUESTED};

/// Annotate an object, for the host that reconciles it.
#[derive(Debug, Args)]
pub struct AnnotateFlags {
    /// The object, as KIND/NAME or KIND NAME; KIND is a kind, its plural or its short name, optionally with .GROUP
    #[arg(required = true, num_args = 1..=2, value_name = "KIND/NAME")]
    pub object: Vec<String>,
    /// The object's namespace [default: the context's]
    #[arg(long, short, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Kubeconfig file [default: that of the host that `windlass dev` runs in this folder, then KUBECONFIG, then ~/.kube/config, then the pod's service account]
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub context: Option<String>,
}

impl AnnotateFlags {
    /// Which cluster, and the namespace of the object there.
    pub fn cluster(&self) -> ClusterFlags {
        ClusterFlags {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

/// What is asked of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Not to reconcile or finalize the object.
    Pause,
    /// To do it again.
    Resume,
    /// To do it now.
    Reconcile,
}

impl Mark {
    /// The merge patch that asks for it.
    fn patch(self, now: Timestamp) -> Value {
        let annotations = match self {
            Self::Pause => json!({ PAUSED: "true" }),
            Self::Resume => json!({ PAUSED: null }),
            Self::Reconcile => json!({ REQUESTED: now.to_string() }),
        };
        json!({ "metadata": { "annotations": annotations } })
    }

    /// What has become of the object, for people.
    fn past_tense(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Reconcile => "is asked to be reconciled",
        }
    }
}

/// Patches the object in the cluster of this folder's host, unless another is named, and prints a line on standard
/// output.
///
/// # Errors
/// The cluster serves no such kind, has no such object, or refuses the patch.
pub async fn annotate(flags: &AnnotateFlags, mark: Mark, seams: Seams) -> anyhow::Result<()> {
    let Some((word, name)) = object_name(&flags.object) else {
        bail!("name one object, as KIND/NAME or KIND NAME");
    };
    let cluster = folder::cluster(flags.cluster(), Path::new("."), &seams).await;
    let (api, namespace) = connect(&cluster, &seams).await?;
    let found = Discovery::new(api.clone(), seams.clock).named(word).await;
    let found = found.context("cannot ask what the cluster serves")?;
    let resource = one_of(word, found)?;
    let namespace = resource.namespaced.then_some(&*namespace);
    let path = resource.path(namespace, Some(name), None)?;
    let patch = mark.patch(seams.clock.wall());
    let request = Request::merge_patch(format!("{path}?fieldManager=windlass"), &patch);
    let place = namespace.map_or(String::new(), |namespace| {
        format!(" in namespace {namespace}")
    });
    match api.text(request).await {
        Ok(_) => Ok(print(&format!(
            "{resource}/{name}{place} {}",
            mark.past_tense()
        ))?),
        Err(error) if error.is_not_found() => {
            bail!(
                "there is no {resource}/{name}{place}: name its namespace with -n, or see `kubectl get {resource} -A`"
            )
        }
        Err(error) => bail!(
            "cannot annotate {resource}/{name}{place}: {}",
            Chain(&error)
        ),
    }
}

/// Whether a plugin is meant, in one of the ways in which kubectl names the kind.
fn is_plugin(word: &str) -> bool {
    let word = word.to_lowercase();
    let (kind, group) = word.split_once('.').unwrap_or((&word, "windlass.dev"));
    matches!(kind, "plugin" | "plugins") && group.ends_with("windlass.dev")
}

/// The one resource that `word` means.
fn one_of(word: &str, found: Vec<Resource>) -> anyhow::Result<Resource> {
    let names: Vec<String> = found.iter().map(ToString::to_string).collect();
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) if is_plugin(word) => bail!(
            "the cluster serves no Plugin objects, so no object can be marked: for a plugin of a config folder, set the annotation in metadata.annotations of its document, such as windlass.dev/paused: \"true\""
        ),
        (None, _) => bail!(
            "the cluster serves no kind called {word} whose objects can be patched: see `kubectl api-resources`"
        ),
        (Some(_), Some(_)) => bail!(
            "{word} means more than one kind: name one of {}",
            names.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_plugin_objects_a_plugin_is_marked_in_its_document() {
        let rows = [
            ("plugin", true),
            ("Plugins", true),
            ("plugins.windlass.dev", true),
            ("plugins.v1alpha1.windlass.dev", true),
            ("plugins.example.com", false),
            ("greeting", false),
        ];
        for (word, is_plugin) in rows {
            let told = one_of(word, Vec::new()).unwrap_err().to_string();
            assert_eq!(told.contains("metadata.annotations"), is_plugin, "{told}");
            assert!(told.contains("the cluster serves no "), "{told}");
        }
    }

    #[test]
    fn each_mark_is_a_patch_of_one_annotation() {
        let now: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
        let rows = [
            (Mark::Pause, json!({ "windlass.dev/paused": "true" })),
            (Mark::Resume, json!({ "windlass.dev/paused": null })),
            (
                Mark::Reconcile,
                json!({ "windlass.dev/reconcile-requested-at": "2026-11-21T09:30:00Z" }),
            ),
        ];
        for (mark, annotations) in rows {
            let want = json!({ "metadata": { "annotations": annotations } });
            assert_eq!(mark.patch(now), want, "{mark:?}");
        }
    }

    #[test]
    fn a_word_means_one_kind_or_the_error_says_what_to_write() {
        let resource = |group: &str| Resource {
            group: group.into(),
            version: "v1".into(),
            kind: "Event".into(),
            plural: "events".into(),
            namespaced: true,
        };
        assert!(one_of("events", vec![resource("x.dev")]).is_ok());
        let none = one_of("frob", Vec::new()).unwrap_err().to_string();
        assert!(none.contains("no kind called frob"), "{none}");
        let two = one_of("events", vec![resource("x.dev"), resource("y.dev")]);
        let two = two.unwrap_err().to_string();
        assert!(two.contains("events.x.dev, events.y.dev"), "{two}");
    }
}
