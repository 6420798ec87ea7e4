//! `windlass grants`: prints the grants that a plugin needs and its document lacks, or adds them to the document.

mod edit;

use std::fs;
use std::io::{Write, stdout};

use anyhow::{Context, bail};

use super::Project;
use super::make::described;
use crate::args::GrantsFlags;
use crate::grants::{Grant, Grants, block};
use crate::manifest;
use crate::plugin::Description;
use crate::screen::{Tone, say};
use crate::seams::Seams;
use edit::{INDENT, with_grants};

/// Prints or adds what is missing.
///
/// # Errors
/// The project cannot be built, or its document cannot be changed by a program.
pub async fn grants(flags: GrantsFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let project = Project::open(&flags.folder)?;
    let (_, plugin) = described(&project, flags.code_cache, threads, &seams).await?;
    let to_grant = plugin.description.to_grant(&project.document.grants);
    let file = project.document.file.display();
    if let Err(problems) = Grants::new(to_grant.clone()) {
        bail!("the plugin needs what cannot be granted: {problems}");
    }
    if to_grant.is_empty() {
        let text = format!("{file} grants all that the plugin needs");
        say(Tone::Good, "Granted", &text)?;
    } else if flags.write {
        let text = added(&project, &to_grant)?;
        fs::write(&project.document.file, text).with_context(|| format!("cannot write {file}"))?;
        let text = format!("{file}  rules: {}", to_grant.len());
        say(Tone::Good, "Added", &text)?;
    } else {
        let text = block(&to_grant, INDENT);
        stdout().lock().write_all(text.as_bytes())?;
    }
    Ok(())
}

/// The text of the document with more grants.
fn added(project: &Project, to_grant: &[Grant]) -> anyhow::Result<String> {
    let document = &project.document;
    let file = &document.file;
    let text = with_grants(&project.text, to_grant);
    // What a person has written is not touched unless it is certain what comes of it.
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
            file.display(),
            block(to_grant, INDENT)
        ),
    }
}

/// What the document of `project` does not grant, with the YAML to paste; nothing if it grants all.
pub(super) fn missing(project: &Project, description: &Description) -> Option<String> {
    let document = &project.document;
    let missing = description.missing(&document.grants);
    if missing.is_empty() {
        return None;
    }
    let to_grant = description.to_grant(&document.grants);
    Some(format!(
        "{} does not grant what the plugin needs: {}; no host starts it before it does. `windlass grants --write` adds this to spec.grants:\n{}",
        document.file.display(),
        missing.join("; "),
        block(&to_grant, INDENT).trim_end()
    ))
}

#[cfg(test)]
mod tests {
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
        let said = missing(&project, &description).unwrap();
        let want = "adds this to spec.grants:\n    - apiGroups: [\"\"]\n      resources: [configmaps]\n      verbs: [get, create]";
        assert!(said.ends_with(want), "{said}");
        let to_grant = description.to_grant(&project.document.grants);
        let text = added(&project, &to_grant).unwrap();
        let read = manifest::parse(&project.document.file, &text).unwrap();
        assert_eq!(description.missing(&read[0].grants), [""; 0]);
    }

    #[test]
    fn a_document_that_only_its_author_can_change_stays_and_the_yaml_is_said() {
        let description = Description::asking("", "configmaps", &["get"]);
        let flow = "  grants: [{ apiGroups: [apps], resources: [deployments], verbs: [get] }]\n  source: { file: x.wasm }\n";
        let (_folder, project) = project(flow);
        let to_grant = description.to_grant(&project.document.grants);
        let error = added(&project, &to_grant).unwrap_err().to_string();
        assert!(error.contains("by hand:\n    - apiGroups"), "{error}");
    }
}
