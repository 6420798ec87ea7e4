//! `windlass rbac`: the roles that the grants of a config folder need, for the host's identity.
//!
//! - What the host may do is what its plugins are granted, and what the host does to act on that.
//! - A document that `windlass run` would not start gives no roles, and nothing is printed then: what
//!   is applied is all or nothing.

mod objects;
mod primary;
mod rules;

use std::io::Write;

use anyhow::{Context, anyhow, bail};

use crate::args::{Output, Rbac};
use crate::describe::Describe;
use crate::error::Chain;
use crate::manifest::Plugin;
use crate::plugin::Description;
use crate::seams::Seams;
use crate::source::{read_component, read_folder, unreadable};
use crate::text::clean;
use objects::{Account, Printed};

/// The longest path that a comment shows.
const PATH: usize = 1 << 10;

/// Prints the roles on standard output, and what is wrong with the documents on standard error.
///
/// # Errors
/// A document cannot be used, or its plugin would not be started.
pub async fn print(flags: Rbac, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let folder = read_folder(&flags.config, seams.clock.now())
        .map_err(|error| anyhow!(unreadable(&flags.config, &error)))?;
    if folder.plugins.is_empty() && folder.problems.is_empty() {
        bail!(
            "there is no plugin in {}: put a Plugin document (*.yaml) and its component there",
            flags.config.display()
        );
    }
    let problems = folder.problems.iter().map(ToString::to_string);
    let mut problems: Vec<String> = problems.collect();
    let describe = Describe::new(flags.code_cache, threads, &seams)?;
    let account = Account {
        namespace: flags.namespace,
        name: flags.service_account,
    };
    let mut printed = Vec::new();
    for candidate in &folder.plugins {
        match roles(&candidate.document, &describe, &account).await {
            Ok(roles) => printed.extend(roles),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        let count = problems.len();
        for problem in problems {
            eprintln!("{problem}");
        }
        bail!(
            "{count} of the documents in {} cannot be used as they are: see above; no roles are printed",
            flags.config.display()
        );
    }
    let text = match flags.output {
        Output::Yaml => objects::yaml(&printed)?,
        Output::Json => objects::json(printed)?,
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write to standard output")
}

/// The roles of one plugin; otherwise what is wrong, with the file.
async fn roles(
    plugin: &Plugin,
    describe: &Describe,
    account: &Account,
) -> Result<Vec<Printed>, String> {
    let (name, file) = (&plugin.name, plugin.file.display().to_string());
    let description = component(describe, plugin).await?;
    let missing = description.missing(&plugin.grants);
    if !missing.is_empty() {
        return Err(format!(
            "{file}: plugin {name} needs what is not granted: {}; add it to grants, if it is to have it",
            missing.join("; ")
        ));
    }
    let primary = primary::find(&description, &plugin.grants)
        .map_err(|problem| format!("{file}: plugin {name}: {problem}"))?;
    let rules = rules::rules(&plugin.grants, &primary);
    Ok(objects::roles(name, &clean(&file, PATH), rules, account))
}

async fn component(describe: &Describe, plugin: &Plugin) -> Result<Description, String> {
    let bytes = read_component(plugin)?;
    let loading = describe.load(&plugin.name, &bytes, &plugin.config, plugin.limits);
    let loaded = loading.await.map_err(|error| {
        format!(
            "{}: component {}: {}",
            plugin.file.display(),
            plugin.component.display(),
            Chain(&error)
        )
    })?;
    Ok(loaded.description)
}
