//! `windlass manifest`: the Plugin document of a component, with the grants that it asks for, to be reviewed.
//!
//! - The document acknowledges no powerful grant: a host refuses it until a person has added the words. The command says
//!   on standard error which words these are.
//! - No word of the component stands in a comment, and none outside of quotes unless it is plain.

use std::fmt::Write as _;

use anyhow::anyhow;

use super::artifact::{Found, Place, find};
use super::component::own_name;
use super::definitions::Definitions;
use super::flags::ManifestFlags;
use super::missing::readiness;
use windlass_base::digest::digest;
use windlass_base::error::Chain;
use windlass_base::screen::{Tone, print_document, print_status};
use windlass_base::seams::Seams;
use windlass_policy::grants::{Grant, Grants, Namespaces, acknowledge_field, block_to_review};
use windlass_policy::manifest::Limits;
use windlass_sandbox::{Describe, Description, PrimaryWatch};
use windlass_yaml::{quoted, scalar};

/// Where the entries of `grants:` begin.
const INDENT: usize = 4;

/// Prints the document. On standard error, the command names the component and the grants that a person has to acknowledge.
///
/// # Errors
/// The component cannot be read, no host would load it, or it needs what is never granted.
pub async fn manifest(flags: ManifestFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let Found { bytes, place } = find(&flags.component, &flags.registries, &seams).await?;
    let describe = Describe::new(flags.code_cache, threads, &seams)?;
    let loading = describe.load("described", &bytes, "{}", Limits::default());
    let plugin = loading
        .await
        .map_err(|error| anyhow!("{}: {}", flags.component, Chain(&error)))?;
    let description = &plugin.description;
    let name = match flags.name {
        Some(name) => name,
        None => own_name(description, "give it another one with --name")?,
    };
    let source = match place {
        Place::File(file) => {
            let name = file.file_name().unwrap_or(file.as_os_str());
            ("file", name.to_string_lossy().into_owned())
        }
        Place::Registry(reference) => ("oci", reference.to_string()),
    };
    let component = Component {
        name: &name,
        source: (source.0, &source.1),
        digest: &digest(&bytes).to_string(),
    };
    let document = component.document(description)?;
    let what = format!(
        "{} {}  {}",
        description.name, description.version, component.digest
    );
    print_status(Tone::Good, "Described", &what)?;
    for line in document.to_acknowledge {
        print_status(Tone::Warning, "Powerful", &line)?;
    }
    Ok(print_document(&document.text)?)
}

/// A document to be reviewed.
struct Document {
    text: String,
    /// For each powerful grant, what to add to it.
    to_acknowledge: Vec<String>,
}

/// A component that gets a document.
struct Component<'a> {
    name: &'a str,
    /// Where it is: the field of `spec.source`, and what it says.
    source: (&'static str, &'a str),
    digest: &'a str,
}

impl Component<'_> {
    fn document(&self, description: &Description) -> anyhow::Result<Document> {
        let Self {
            name,
            source: (field, place),
            digest,
        } = self;
        let own = Definitions::carried(&description.crds);
        let to_grant = readiness(&Grants::default(), description, &own).to_grant;
        let to_grant = to_grant
            .map_err(|never| anyhow!("the plugin needs access that is never granted: {never}"))?;
        let mut out = format!(
            "# {digest}\n# Review the grants. A host refuses a powerful one until it has the field `acknowledge`, and says what to write.\n"
        );
        let (name, place) = (scalar(name), quoted(place));
        let _ = write!(
            out,
            "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata:\n  name: {name}\nspec:\n  source:\n    {field}: {place}\n"
        );
        if !description.crds.is_empty() {
            out.push_str(
                "  # The component carries CustomResourceDefinitions. Install has the host install them.\n  crds: Check\n",
            );
        }
        if !description.origins.is_empty() {
            out.push_str("  # GET and HEAD only, until you add `methods`.\n  http:\n    allow:\n");
            for origin in &description.origins {
                let origin = scalar(&origin.to_string());
                let _ = writeln!(out, "    - origin: {origin}");
            }
        }
        let every = description.every_kind().map(|(_, watch)| watch);
        if !to_grant.is_empty() || every.is_some() {
            out.push_str("  grants:\n");
            out.push_str(&block_to_review(&to_grant, INDENT));
        }
        let mut grants = to_grant;
        if let Some(every) = every {
            let example = of_every_kind(description, every);
            out.push_str(
                "    # The plugin reconciles every kind that a grant names. Write one for each, such as:\n",
            );
            out.push_str(&block_to_review([&example], INDENT));
            grants.push(example);
        }
        let advice = grants.iter().enumerate().filter_map(|(index, grant)| {
            let field = acknowledge_field(grant)?;
            Some(format!(
                "spec.grants[{index}]: if the plugin is to have it, add {field}"
            ))
        });
        Ok(Document {
            text: out,
            to_acknowledge: advice.collect(),
        })
    }
}

/// A grant for a plugin that reconciles every kind: only the reader knows which kinds these are.
fn of_every_kind(description: &Description, every: &PrimaryWatch) -> Grant {
    let mut verbs = every.verbs();
    let needs = description.needs.iter();
    let needs = needs.filter(|need| description.is_of_every_kind(need));
    for verb in needs.flat_map(|need| &need.verbs) {
        if !verbs.contains(&&**verb) {
            verbs.push(verb);
        }
    }
    Grant::suggested("", &["configmaps"], &verbs, Namespaces::All)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use windlass_policy::manifest::Origin;

    use super::*;

    fn document(description: &Description) -> Document {
        let component = Component {
            name: "x",
            source: ("file", "x.wasm"),
            digest: "sha256:0",
        };
        component.document(description).unwrap()
    }

    #[test]
    fn what_is_plain_is_granted_and_what_is_powerful_is_to_be_acknowledged() {
        let mut description = Description::asking("", "configmaps", &["get", "create"]);
        let watch = Description::asking("x.dev", "xes", &["get", "list", "watch"]);
        description.needs.extend(watch.needs);
        let Document {
            text,
            to_acknowledge,
        } = document(&description);
        let read = windlass_policy::manifest::parse(&Origin::File("x.yaml".into()), &text).unwrap();
        assert_eq!(description.missing(&read[0].grants), [""; 0], "{text}");
        assert_eq!(read[0].source.file(), Some(Path::new("x.wasm")));
        assert_eq!(to_acknowledge, [""; 0]);

        let secrets = Description::asking("", "secrets", &["get"]);
        description.needs.extend(secrets.needs);
        let Document {
            text,
            to_acknowledge,
        } = document(&description);
        let parse =
            |text: &str| windlass_policy::manifest::parse(&Origin::File("x.yaml".into()), text);
        let refused = parse(&text).unwrap_err().to_string();
        assert!(refused.contains("acknowledge: [secrets/get]"), "{refused}");
        let [advice] = to_acknowledge.as_slice() else {
            panic!("{to_acknowledge:?}");
        };
        let (_, field) = advice.split_once("add ").unwrap();
        let reviewed = text.replace(
            "resources: [secrets]\n",
            &format!("resources: [secrets]\n      {field}\n"),
        );
        let read = parse(&reviewed).unwrap();
        assert_eq!(description.missing(&read[0].grants), [""; 0], "{reviewed}");
    }

    #[test]
    fn definitions_origins_and_every_kind_are_in_it() {
        let mut description = Description {
            primaries: vec![PrimaryWatch::of("*", "*")],
            ..Description::asking("*", "*", &["delete"])
        };
        let crd = r#"{ "kind": "CustomResourceDefinition" }"#;
        description.crds.push(crd.to_owned());
        let origin = windlass_egress::Origin::parse("https://api.example.com").unwrap();
        description.origins.push(origin);
        let text = document(&description).text;
        let read = windlass_policy::manifest::parse(&Origin::File("x.yaml".into()), &text).unwrap();
        let document = &read[0];
        assert_eq!(description.missing(&document.grants), [""; 0], "{text}");
        assert!(document.grants.cover_need("delete", "", "configmaps", &[]));
        assert_eq!(document.http.allow.len(), 1);
        assert_eq!(document.crds.to_string(), "Check");
    }

    #[test]
    fn what_is_never_granted_is_said() {
        let component = Component {
            name: "x",
            source: ("file", "x.wasm"),
            digest: "sha256:0",
        };
        let leases = Description::asking("coordination.k8s.io", "leases", &["get"]);
        let error = component.document(&leases).err().unwrap().to_string();
        assert!(error.contains("never granted: leases"), "{error}");
    }
}
