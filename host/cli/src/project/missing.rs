//! `windlass grants`: prints the grants that a plugin needs and its document lacks, or adds them to the document.

mod edit;

use std::path::Path;

use anyhow::{Context, anyhow, bail};

use super::Project;
use super::definitions::Definitions;
use super::flags::GrantsFlags;
use super::make::described;
use edit::{INDENT, with_grants};
use windlass_base::screen::{Tone, print_document, print_status};
use windlass_base::seams::Seams;
use windlass_base::text::shell_word;
use windlass_controller::needs::{CoverageQuery, Readiness};
use windlass_host::rbac::primary_plural;
use windlass_policy::grants::{Grant, Grants, block};
use windlass_policy::manifest;
use windlass_policy::source::change_text;
use windlass_sandbox::{Description, PrimaryWatch};

/// Prints or adds what is missing.
///
/// # Errors
/// The project cannot be built, or its document cannot be changed by a program.
pub async fn grants(flags: GrantsFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let project = Project::open(&flags.folder)?;
    let (_, plugin) = described(&project, flags.code_cache, threads, &seams).await?;
    // A build takes its time: somebody may have changed the document meanwhile.
    let project = Project::open(&flags.folder)?;
    let own = Definitions::of(&project.folder)?;
    let grants = &project.document.grants;
    let to_grant = readiness(grants, &plugin.description, &own).to_grant;
    let to_grant = to_grant
        .map_err(|never| anyhow!("the plugin needs access that is never granted: {never}"))?;
    let file = &project.document.origin;
    if to_grant.is_empty() {
        let text = format!("{file} grants all that the plugin needs");
        print_status(Tone::Good, "Granted", &text)?;
    } else if flags.write {
        let text = added(&project, &to_grant)?;
        let changed = change_text(&project.file(), &project.text, &text);
        changed.with_context(|| format!("cannot write {file}"))?;
        let text = format!("{file}  rules: {}", to_grant.len());
        print_status(Tone::Good, "Added", &text)?;
    } else {
        let text = block(&to_grant, INDENT);
        print_document(&text)?;
    }
    Ok(())
}

/// The command that adds what is missing to the document in `folder`.
pub fn grants_command(folder: &Path) -> String {
    let command = "windlass grants --write";
    if folder == Path::new(".") {
        command.to_owned()
    } else {
        format!("{command} {}", shell_word(&folder.display().to_string()))
    }
}

/// Whether `grants` are all that a plugin needs, which defines its `own` kinds.
pub(super) fn readiness(
    grants: &Grants,
    description: &Description,
    own: &Definitions,
) -> Readiness {
    let primaries = description.primaries.iter();
    let plurals: Vec<(&str, String)> = primaries
        .map(|primary| {
            let plural = plural(grants, description, primary, own);
            let plural = plural.unwrap_or_else(|_| description.likely_plural(primary));
            (primary.group(), plural)
        })
        .collect();
    let primaries = plurals
        .iter()
        .map(|(group, plural)| own.kind(group, plural));
    let places = CoverageQuery {
        primaries: primaries.collect(),
        is_cluster_scoped: &|group, plural| own.is_cluster_scoped(group, plural),
    };
    Readiness::of(description, grants, &places)
}

/// The plural of a primary kind, as the project defines it or as its grants say.
///
/// # Errors
/// The grants do not tell.
pub(super) fn plural(
    grants: &Grants,
    description: &Description,
    primary: &PrimaryWatch,
    own: &Definitions,
) -> Result<String, String> {
    match own.by_kind(primary.group(), &primary.kind) {
        Some(own) => Ok(own.plural.clone()),
        None => primary_plural(description, primary, grants),
    }
}

/// The text of the document with more grants.
fn added(project: &Project, to_grant: &[Grant]) -> anyhow::Result<String> {
    let document = &project.document;
    let file = &document.origin;
    let text = with_grants(&project.text, to_grant);
    // What a person has written is not touched unless the result is certain.
    let is_as_meant = |text: &String| {
        let Ok(read) = manifest::parse(file, text) else {
            return false;
        };
        let [read] = read.as_slice() else {
            return false;
        };
        let mut same = read.clone();
        same.grants = document.grants.clone();
        let want = document.grants.iter().chain(to_grant);
        same == *document && read.grants.iter().eq(want)
    };
    match text.filter(is_as_meant) {
        Some(text) => Ok(text),
        None => bail!(
            "{}: its grants are written in a way that only its author can change: add this to spec.grants by hand:\n{}",
            file,
            block(to_grant, INDENT)
        ),
    }
}

/// What the document of `project` does not grant, with the YAML to paste; nothing if it grants all.
pub(super) fn missing(project: &Project, readiness: &Readiness) -> Option<String> {
    let advice = |grants: &[Grant]| {
        let block = block(grants, INDENT);
        format!(
            "no host starts it until this is granted. `{}` adds this to spec.grants:\n{}",
            grants_command(&project.folder),
            block.trim_end()
        )
    };
    let lack = readiness.lack(advice)?;
    let (file, name) = (&project.document.origin, &project.document.name);
    Some(format!("{file}: plugin {name} {lack}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const HEAD: &str =
        "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: { name: x }\nspec:\n";

    fn project(spec: &str) -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(super::super::DOCUMENT);
        fs::write(path, format!("{HEAD}{spec}")).unwrap();
        let project = Project::open(folder.path()).unwrap();
        (folder, project)
    }

    #[test]
    fn what_is_missing_is_yaml_that_the_document_takes() {
        let description = Description::asking("", "configmaps", &["get", "create"]);
        let (_folder, project) = project("  source: { file: x.wasm }\n");
        let own = Definitions::default();
        let readiness = readiness(&project.document.grants, &description, &own);
        let said = missing(&project, &readiness).unwrap();
        let want = "adds this to spec.grants:\n    - apiGroups: [\"\"]\n      resources: [configmaps]\n      verbs: [get, create]";
        assert!(said.ends_with(want), "{said}");
        let to_grant = readiness.to_grant.unwrap();
        let text = added(&project, &to_grant).unwrap();
        let read = manifest::parse(&project.document.origin, &text).unwrap();
        assert_eq!(description.missing(&read[0].grants), [""; 0]);
    }

    #[test]
    fn nothing_is_proposed_if_some_of_it_is_never_granted() {
        let mut description = Description::asking("", "configmaps", &["get", "create"]);
        let leases = Description::asking("coordination.k8s.io", "leases", &["get"]);
        description.needs.extend(leases.needs);
        let (_folder, project) = project("  source: { file: x.wasm }\n");
        let readiness = readiness(
            &project.document.grants,
            &description,
            &Definitions::default(),
        );
        let said = missing(&project, &readiness).unwrap();
        assert!(said.contains("never granted: leases"), "{said}");
        assert!(!said.contains("--write"), "{said}");
    }

    #[test]
    fn the_command_names_the_folder_that_the_author_named() {
        let command = |folder: &str| grants_command(Path::new(folder));
        assert_eq!(command("."), "windlass grants --write");
        assert_eq!(command("a/b"), "windlass grants --write a/b");
        assert_eq!(command("a b"), "windlass grants --write 'a b'");
    }

    #[test]
    fn what_is_written_for_a_kind_of_the_projects_own_is_what_a_host_takes() {
        let (folder, project) = project("  source: { file: x.wasm }\n");
        let crd = "kind: CustomResourceDefinition\nspec: { group: x.dev, scope: Cluster, names: { kind: X, plural: ixes } }\n";
        fs::write(folder.path().join("x.crd.yaml"), crd).unwrap();
        let own = Definitions::of(folder.path()).unwrap();
        let mut description = Description::asking("x.dev", "ixes", &["get", "list", "watch"]);
        let children = Description::asking("", "configmaps", &["create"]);
        description.needs.extend(children.needs);
        let to_grant = readiness(&project.document.grants, &description, &own)
            .to_grant
            .unwrap();
        let text = added(&project, &to_grant).unwrap();
        let read = manifest::parse(&project.document.origin, &text).unwrap();
        let places = CoverageQuery {
            primaries: vec![own.kind("x.dev", "ixes")],
            is_cluster_scoped: &|group, plural| own.is_cluster_scoped(group, plural),
        };
        let problems = Readiness::of(&description, &read[0].grants, &places).problems;
        assert!(problems.is_empty(), "{problems:?}: {text}");
    }

    #[test]
    fn a_document_that_only_its_author_can_change_stays_and_the_yaml_is_said() {
        let description = Description::asking("", "configmaps", &["get"]);
        let flow = "  grants: [{ apiGroups: [apps], resources: [deployments], verbs: [get] }]\n  source: { file: x.wasm }\n";
        let (_folder, project) = project(flow);
        let own = Definitions::default();
        let to_grant = readiness(&project.document.grants, &description, &own)
            .to_grant
            .unwrap();
        let error = added(&project, &to_grant).unwrap_err().to_string();
        assert!(error.contains("by hand:\n    - apiGroups"), "{error}");
    }
}
