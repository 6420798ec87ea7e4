//! The rules of a plugin with a service account: what the account may do, and what the host keeps.
//!
//! The account has what the plugin causes, with its Events. The host keeps nothing that writes, but for Events about the
//! definitions that a plugin carries:
//! - `list` and `watch` on what the plugin watches: its stores are those of all plugins;
//! - to act as the account, in the one way or the other;
//! - to ask what the account may do.

use clap::ValueEnum;
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{PluginNeeds, RoleScope, Rules, add_host, holds, of_grants, of_plugin, rule, tidy};
use windlass_kube::api::ServiceAccount;
use windlass_policy::grants::{Grant, Grants};

/// How the host may act as a service account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Impersonation {
    /// By the verb `impersonate`, which every API server knows: all that the account may do
    Legacy,
    /// By the verbs of constrained impersonation (Kubernetes 1.36 and later): only what the plugin does
    Constrained,
}

/// The rules of a plugin with a service account.
pub(in super::super) struct Shared {
    /// Those of the account.
    pub(in super::super) account: Rules,
    /// Those of the host.
    pub(in super::super) host: Rules,
}

/// Shares out the rules of a plugin between `account`, as which it acts, and the host.
pub(in super::super) fn shared_out(
    needs: &PluginNeeds<'_>,
    account: &ServiceAccount,
    impersonation: Impersonation,
) -> Shared {
    let of_account = tidy(of_plugin(needs));
    let mut host = of_stores(needs);
    add_host(&mut host, needs);
    let mut add = |place: RoleScope, rule: PolicyRule| host.entry(place).or_default().push(rule);
    add(
        RoleScope::Everywhere,
        rule(
            &["authorization.k8s.io"],
            &["subjectaccessreviews"],
            &[],
            &["create"],
        ),
    );
    let (group, verb) = match impersonation {
        Impersonation::Legacy => ("", "impersonate"),
        Impersonation::Constrained => ("authentication.k8s.io", "impersonate:serviceaccount"),
    };
    add(
        RoleScope::Namespace(account.namespace().to_owned()),
        rule(&[group], &["serviceaccounts"], &[account.name()], &[verb]),
    );
    if impersonation == Impersonation::Constrained {
        for (place, rules) in &of_account {
            for rule in rules {
                add(place.clone(), constrained(rule));
            }
        }
    }
    Shared {
        account: of_account,
        host: tidy(host),
    }
}

/// What the host lists and watches for the plugin.
fn of_stores(needs: &PluginNeeds<'_>) -> Rules {
    let watched = needs.grants.iter().filter(|grant| holds(grant, "watch"));
    let watched = watched.map(|grant| Grant {
        verbs: vec!["list".into(), "watch".into()],
        resources: {
            let whole = grant.resources.iter().filter(|it| !it.contains('/'));
            whole.cloned().collect()
        },
        // An informer lists and watches all objects of a kind.
        resource_names: Vec::new(),
        // What else it gives is not the host's.
        acknowledge: Vec::new(),
        adopt: false,
        finalizers: Vec::new(),
        ..grant.clone()
    });
    of_grants(&Grants::parts(watched), needs.primaries)
}

/// The right to do what `rule` allows while acting as a service account.
fn constrained(rule: &PolicyRule) -> PolicyRule {
    let verbs = rule.verbs.iter();
    PolicyRule {
        verbs: verbs
            .map(|verb| format!("impersonate-on:serviceaccount:{verb}"))
            .collect(),
        ..rule.clone()
    }
}
