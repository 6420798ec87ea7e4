//! `windlass rbac`: the roles that the grants of a config folder need, for the host's identity.
//!
//! - What the host may do is what its plugins are granted, and what the host does to act on that.
//! - A plugin with a service account has its rights there, and the host keeps no right to write for it.
//! - A document that `windlass run` would not start gives no roles, and nothing is printed then: what
//!   is applied is all or nothing.

mod flags;
mod objects;
mod primary;
mod rules;

use std::collections::BTreeMap;

use anyhow::{anyhow, bail};
use windlass_registry::Client;

pub use flags::RbacFlags;
use objects::{Printed, RolesFor};
pub use primary::{is_watched, plural as primary_plural};
pub use rules::Impersonation;
use rules::PluginNeeds;
use windlass_base::error::Chain;
use windlass_base::screen::{complain, print_document, print_json};
use windlass_base::seams::Seams;
use windlass_base::text::clean;
use windlass_controller::needs::{CoverageQuery, PrimaryKind, Readiness, carried, closed_origins};
use windlass_kube::api::{ServiceAccount, is_cluster_scoped};
use windlass_kube::flags::ObjectFormat;
use windlass_policy::grants::{Grant, block};
use windlass_policy::manifest::{ComponentSource, PluginDocument};
use windlass_policy::source::{Candidate, blame, read_component, read_folder, unreadable};
use windlass_sandbox::{Describe, Description};

/// The longest path that a comment shows.
const PATH: usize = 1 << 10;

/// Prints the roles on standard output, and what is wrong with the documents on standard error.
///
/// # Errors
/// A document cannot be used, or its plugin would not be started.
pub async fn print(flags: RbacFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
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
    let means = Means {
        describe: Describe::new(flags.code_cache, threads, &seams)?,
        registries: Client::new(flags.registries.settings(&seams)?),
    };
    let account = ServiceAccount::new(&flags.namespace, &flags.service_account)?;
    let mut printed = Vec::new();
    for candidate in &folder.plugins {
        match roles(candidate, &means, (&account, flags.impersonation)).await {
            Ok((roles, notes)) => {
                printed.extend(roles);
                for note in notes {
                    complain(&format!("warning: {note}"));
                }
            }
            Err(more) => problems.extend(more),
        }
    }
    if !problems.is_empty() {
        let count = problems.len();
        for problem in problems {
            complain(&problem);
        }
        bail!(
            "{count} of the documents in {} cannot be used as they are: see above; no roles are printed",
            flags.config.display()
        );
    }
    Ok(match flags.output {
        ObjectFormat::Yaml => print_document(&objects::yaml(&printed)?),
        ObjectFormat::Json => print_json(&objects::json(printed)?),
    }?)
}

/// The roles of one plugin, and what it has to do without; otherwise what is wrong, with the file.
async fn roles(
    candidate: &Candidate,
    means: &Means,
    (account, impersonation): (&ServiceAccount, Impersonation),
) -> Result<(Vec<Printed>, Vec<String>), Vec<String>> {
    let plugin = &candidate.document;
    let (name, file) = (&plugin.name, plugin.origin.to_string());
    let description = means.description(plugin).await;
    let description = description.map_err(|problem| vec![problem])?;
    let of_plugin = |problem: String| format!("{file}: plugin {name}: {problem}");
    let primaries = description.primaries.iter();
    let plurals: Vec<(&str, String)> = primaries
        .map(|primary| {
            let plural = primary::plural(&description, primary, &plugin.grants);
            let plural = plural.unwrap_or_else(|_| description.likely_plural(primary));
            (primary.group(), plural)
        })
        .collect();
    let known = plurals
        .iter()
        .map(|(group, plural)| PrimaryKind::known(group, plural));
    let places = CoverageQuery {
        primaries: known.collect(),
        is_cluster_scoped: &is_cluster_scoped,
    };
    if let Some(problem) = plugin.grants.leases_of_host(account.namespace()) {
        return Err(vec![of_plugin(problem)]);
    }
    let readiness = Readiness::of(&description, &plugin.grants, &places);
    let advice = |grants: &[Grant]| {
        let block = block(grants, 4);
        format!(
            "add it to spec.grants, if it is to have it:\n{}",
            block.trim_end()
        )
    };
    let lack = readiness.lack(advice);
    if let Some(lack) = lack.or_else(|| closed_origins(&description, &plugin.http)) {
        return Err(vec![format!("{file}: plugin {name} {lack}")]);
    }
    let primaries = description.primaries.iter();
    let wide = plugin.grants.without_selectors();
    let found = primaries.map(|primary| primary::find(&description, primary, &wide));
    let found: Result<Vec<_>, _> = found.collect();
    let primaries = found.map_err(|problem| vec![of_plugin(problem)])?.concat();
    let line = |index| candidate.line_of_grant(index);
    let (refused, notes) = readiness.problems_told(line);
    if !refused.is_empty() {
        return Err(refused.into_iter().map(of_plugin).collect());
    }
    let notes = notes.into_iter().map(of_plugin).collect();
    let carried = carried(&description, plugin.crds, &plugin.grants);
    let carried = carried.map_err(|why| vec![format!("{file}: plugin {name} {why}")])?;
    let needs = PluginNeeds {
        grants: &plugin.grants,
        http: &plugin.http,
        primaries: &primaries,
        crds: plugin.crds,
        carried: &carried,
    };
    let remarks = rules::remarks(&plugin.grants, &primaries);
    let file = clean(&file, PATH);
    let of = (&**name, &*file);
    let Some(acts_as) = &plugin.service_account else {
        let what = RolesFor::Host(account);
        let roles = objects::roles(of, rules::of_host(&needs), &remarks, what);
        return Ok((roles, notes));
    };
    if *acts_as == *account {
        return Err(vec![of_plugin(format!(
            "spec.serviceAccount: {acts_as} is the service account of the host: name another one, or leave the field out"
        ))]);
    }
    let shared = rules::shared_out(&needs, acts_as, impersonation);
    let of_host = RolesFor::HostOf(account, acts_as);
    let mut printed = vec![objects::service_account(name, acts_as)];
    printed.extend(objects::roles(
        of,
        shared.account,
        &remarks,
        RolesFor::Account(acts_as),
    ));
    printed.extend(objects::roles(of, shared.host, &BTreeMap::new(), of_host));
    Ok((printed, notes))
}

/// What a component is read and described by.
struct Means {
    describe: Describe,
    registries: Client,
}

impl Means {
    /// What the component of `plugin` says of itself.
    async fn description(&self, plugin: &PluginDocument) -> Result<Description, String> {
        let bytes = match &plugin.source {
            ComponentSource::File(_) => read_component(plugin)?,
            ComponentSource::Oci(oci) => {
                let pulled = self.registries.pull(&oci.reference).await;
                pulled
                    .map_err(|error| blame(plugin, &error.to_string()))?
                    .component
            }
            ComponentSource::ConfigMap(_) => {
                return Err(blame(
                    plugin,
                    "this command speaks to no cluster: name the component's file in a copy of the document, with spec.source.file",
                ));
            }
        };
        let loading = self
            .describe
            .load(&plugin.name, &bytes, &plugin.config, plugin.limits);
        let loaded = loading.await.map_err(|error| {
            format!(
                "{}: component {}: {}",
                plugin.origin,
                plugin.source,
                Chain(&error)
            )
        })?;
        Ok(loaded.description)
    }
}
