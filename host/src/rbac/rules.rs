//! From grants to RBAC rules: pure.
//!
//! A rule says what its grant says. Beyond that, the host needs for itself:
//! - `list` with `watch`: an informer lists first; and it lists and watches all objects of a kind,
//!   also where a grant names some of them;
//! - `get` with `delete`: what the host has not seen it reads, to delete it by its UID;
//! - `get` with `create` and `patch`: before it applies a child of a set, it looks at what has that name;
//! - `get` on `x` with `patch` on `x/status`: after a conflict it reads before it tries again;
//! - `get` on `x` with `update` on a subresource of `x`: it reads the metadata that the update leaves as it is;
//! - Events about what the plugin may see;
//! - `get` on the definitions that the plugin carries, if the document does not ignore them; `patch` on these, and `create`,
//!   if the host installs them;
//! - `list` and `watch` on namespaces, if a grant selects some by their labels;
//! - `update` on the primary's `finalizers`, if children are made: admission may ask it of anyone who
//!   writes an owner reference that blocks the owner's deletion.
//!
//! A wildcard in `resources` is printed as a list where it would cover Secrets, or what no plugin gets: see
//! [`wildcard`].

mod account;
mod wildcard;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;
use windlass_egress::{Credentials, ObjectName, Rules as HttpRules};

pub use account::Impersonation;
pub(super) use account::shared_out;

use super::primary::GrantedPrimary;
use windlass_policy::definitions::{Carried, GROUP, PLURAL};
use windlass_policy::grants::{BIND, Grant, Grants, Namespaces, Scope, VERBS};
use windlass_policy::manifest::DefinitionPolicy;

/// What is said where a grant selects namespaces.
const SELECTS: &str = "RBAC has no label selectors: a grant with namespaceSelector is given in all namespaces here, and the host holds the plugin to those that are selected.";

/// Where rules hold: a ClusterRole, or a Role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RoleScope {
    /// In all namespaces, and for what has none.
    Everywhere,
    /// In this one.
    Namespace(String),
}

/// Rules, by place. A place has at least one.
pub(super) type Rules = BTreeMap<RoleScope, Vec<PolicyRule>>;

/// What a plugin needs, as its document and its component say.
#[derive(Clone, Copy)]
pub(super) struct PluginNeeds<'a> {
    pub(super) grants: &'a Grants,
    pub(super) http: &'a HttpRules,
    pub(super) primaries: &'a [GrantedPrimary],
    pub(super) crds: DefinitionPolicy,
    pub(super) carried: &'a [Carried],
}

/// The rules of a host for a plugin that acts as the host.
pub(super) fn of_host(needs: &PluginNeeds<'_>) -> Rules {
    let mut places = of_plugin(needs);
    add_host(&mut places, needs);
    tidy(places)
}

/// What a plugin causes.
fn of_plugin(needs: &PluginNeeds<'_>) -> Rules {
    let mut places = of_grants(needs.grants, needs.primaries);
    for place in seen(needs.grants, needs.primaries) {
        places.entry(place).or_default().extend(of_events());
    }
    add_sources(&mut places, needs.http, needs.primaries);
    add_definitions(&mut places, needs.crds, needs.carried);
    places
}

/// Adds what a host does as itself for a plugin.
fn add_host(places: &mut Rules, needs: &PluginNeeds<'_>) {
    if !needs.carried.is_empty() && needs.crds != DefinitionPolicy::Ignore {
        // The Events of what has no namespace are in this one.
        let events = RoleScope::Namespace("default".into());
        places.entry(events).or_default().extend(of_events());
    }
    if !needs.grants.namespace_selectors().is_empty() {
        let held = places.entry(RoleScope::Everywhere).or_default();
        held.push(rule(&[""], &["namespaces"], &[], &["list", "watch"]));
    }
    if needs.http.allow.iter().any(|allowed| allowed.allow_private) {
        add_servers(places);
    }
}

/// Where there are objects that Events are about.
fn seen(grants: &Grants, primaries: &[GrantedPrimary]) -> Vec<RoleScope> {
    let scope = scope(primaries);
    let mut seen = of_scope(&scope);
    for grant in grants.iter().filter(|grant| holds(grant, "get")) {
        seen.extend(of_namespaces(&grant.namespaces, &scope));
    }
    seen
}

/// The rules that `grants` need.
fn of_grants(grants: &Grants, primaries: &[GrantedPrimary]) -> Rules {
    let scope = scope(primaries);
    let known = wildcard::groups(grants, primaries);
    let mut places = Rules::new();
    for grant in grants.iter() {
        for place in of_namespaces(&grant.namespaces, &scope) {
            let held = places.entry(place).or_default();
            held.extend(of_grant(grant, &known));
        }
    }
    let creates = grants.iter().any(|grant| holds(grant, "create"));
    for primary in primaries.iter().filter(|_| creates) {
        for place in of_scope(&primary.scope) {
            let finalizers = format!("{}/finalizers", primary.plural);
            let rule = rule(&[&primary.group], &[&finalizers], &[], &["update"]);
            places.entry(place).or_default().push(rule);
        }
    }
    places
}

/// The rules that one grant needs, wherever it holds; `known` are the groups that a wildcard stands for.
fn of_grant(grant: &Grant, known: &BTreeSet<String>) -> Vec<PolicyRule> {
    let written = (literal(&grant.api_groups), literal(&grant.resources));
    let mut rules = Vec::new();
    for (groups, resources) in wildcard::spelled_out(written, known) {
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let resources: Vec<&str> = resources.iter().map(String::as_str).collect();
        rules.extend(of_resources(grant, &groups, &resources));
    }
    rules
}

/// The rules that a grant needs for these resources of these groups.
fn of_resources(grant: &Grant, groups: &[&str], resources: &[&str]) -> Vec<PolicyRule> {
    let names: Vec<&str> = grant.resource_names.iter().map(String::as_str).collect();
    let may = |verb: &str| match verb {
        "get" => {
            let applies = holds(grant, "create") && holds(grant, "patch");
            holds(grant, "get") || holds(grant, "delete") || applies
        }
        // Names do not restrict these: RBAC takes them for a request with a field selector only.
        "list" => names.is_empty() && (holds(grant, "list") || holds(grant, "watch")),
        "watch" | "deletecollection" => names.is_empty() && holds(grant, verb),
        verb => holds(grant, verb),
    };
    let mut verbs: Vec<&str> = VERBS.into_iter().filter(|verb| may(verb)).collect();
    // No wildcard stands for it.
    if grant.verbs.iter().any(|verb| verb == BIND) {
        verbs.push(BIND);
    }
    let mut rules = vec![rule(groups, resources, &names, &verbs)];
    if !names.is_empty() && holds(grant, "watch") {
        rules.push(rule(groups, resources, &[], &["list", "watch"]));
    }
    // What the host reads itself before it changes a subresource of it.
    let read = resources.iter().filter_map(|resource| {
        let (plural, subresource) = resource.split_once('/')?;
        let reads = holds(grant, "update") || subresource == "status" && holds(grant, "patch");
        reads.then_some(plural)
    });
    rules.push(rule(groups, &read.collect::<Vec<_>>(), &names, &["get"]));
    let says = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
    rules.retain(|rule| says(&rule.api_groups) && says(&rule.resources) && !rule.verbs.is_empty());
    rules
}

fn holds(grant: &Grant, verb: &str) -> bool {
    grant.verbs.iter().any(|held| held == "*" || held == verb)
}

/// What is written out, and `*`. To a grant a pattern such as `*/scale` is a name that nothing has;
/// to RBAC it is one.
fn literal(list: &[String]) -> Vec<&str> {
    let names = list.iter().map(String::as_str);
    names
        .filter(|name| *name == "*" || !name.contains('*'))
        .collect()
}

fn rule(groups: &[&str], resources: &[&str], names: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    PolicyRule {
        api_groups: Some(owned(groups)),
        resources: Some(owned(resources)),
        resource_names: (!names.is_empty()).then(|| owned(names)),
        non_resource_urls: None,
        verbs: owned(verbs),
    }
}

/// Adds what is read for HTTP requests: the Secrets and ConfigMaps that the document names, and Secrets that the plugin
/// chooses.
fn add_sources(places: &mut Rules, http: &HttpRules, primaries: &[GrantedPrimary]) {
    let home = of_scope(&scope(primaries));
    let mut add = |resource: &str, name: Option<&ObjectName>| {
        let names: Vec<&str> = name.iter().map(|name| &*name.name).collect();
        let rule = rule(&[""], &[resource], &names, &["get"]);
        let named = name.and_then(|name| name.namespace.clone());
        let at = named.map_or_else(|| home.clone(), |name| vec![RoleScope::Namespace(name)]);
        for place in at {
            let held = places.entry(place).or_default();
            if !held.iter().any(|by| covers(by, &rule)) {
                held.push(rule.clone());
            }
        }
    };
    for allowed in &http.allow {
        if let Some(ca) = &allowed.ca {
            add("configmaps", Some(&ca.config_map));
        }
        let certificate = allowed.client_certificate.iter();
        for secret in certificate.chain(allowed.secrets()) {
            add("secrets", Some(secret));
        }
        if allowed.credentials == Credentials::SameNamespace {
            add("secrets", None);
        }
    }
}

/// What tells the host the addresses of the API server, which no rule opens.
fn add_servers(places: &mut Rules) {
    let held = places.entry(RoleScope::Namespace("default".to_owned()));
    let held = held.or_default();
    for rule in [
        rule(&[""], &["services"], &["kubernetes"], &["get"]),
        rule(&["discovery.k8s.io"], &["endpointslices"], &[], &["list"]),
    ] {
        if !held.iter().any(|by| covers(by, &rule)) {
            held.push(rule);
        }
    }
}

/// Adds what the definitions that the plugin carries take: they are read, and installed if the document says so. RBAC
/// cannot restrict `create` to names.
fn add_definitions(places: &mut Rules, policy: DefinitionPolicy, carried: &[Carried]) {
    if carried.is_empty() {
        return;
    }
    let names: Vec<&str> = carried.iter().map(|it| &*it.name).collect();
    let of_definitions = |names: &[&str], verbs: &[&str]| rule(&[GROUP], &[PLURAL], names, verbs);
    let rules = match policy {
        DefinitionPolicy::Ignore => return,
        DefinitionPolicy::Check => vec![of_definitions(&names, &["get"])],
        DefinitionPolicy::Install => vec![
            of_definitions(&names, &["get", "patch"]),
            of_definitions(&[], &["create"]),
        ],
    };
    places
        .entry(RoleScope::Everywhere)
        .or_default()
        .extend(rules);
}

/// What publishing Events needs.
fn of_events() -> [PolicyRule; 2] {
    let events = rule(&["events.k8s.io"], &["events"], &[], &["create", "patch"]);
    // The text of an Event changes in the core group alone.
    let texts = rule(&[""], &["events"], &[], &["patch"]);
    [events, texts]
}

/// Where any of the primary kinds is watched.
fn scope(primaries: &[GrantedPrimary]) -> Scope {
    let scopes = primaries.iter().map(|primary| primary.scope.clone());
    scopes.fold(Scope::Namespaces(Vec::new()), Scope::union)
}

fn of_scope(scope: &Scope) -> Vec<RoleScope> {
    match scope {
        Scope::All => vec![RoleScope::Everywhere],
        Scope::Namespaces(names) => names.iter().cloned().map(RoleScope::Namespace).collect(),
    }
}

fn of_namespaces(namespaces: &Namespaces, primary: &Scope) -> Vec<RoleScope> {
    match namespaces {
        // RBAC has no selectors: the host holds the plugin to the namespaces that are selected.
        Namespaces::All | Namespaces::Selected { .. } => vec![RoleScope::Everywhere],
        Namespaces::SameAsPrimary => of_scope(primary),
        Namespaces::Only(names) => names.iter().cloned().map(RoleScope::Namespace).collect(),
    }
}

/// What the person who applies the rules of each place should know of them: why they are powerful, and wider than the grants.
pub(super) fn remarks(
    grants: &Grants,
    primaries: &[GrantedPrimary],
) -> BTreeMap<RoleScope, Vec<String>> {
    let scope = scope(primaries);
    let mut remarks: BTreeMap<RoleScope, Vec<String>> = BTreeMap::new();
    for grant in grants.iter() {
        let powers = grant.powers().into_iter();
        let mut said: Vec<String> = powers.map(|it| format!("Powerful: {}.", it.why)).collect();
        if let Namespaces::Selected { .. } = grant.namespaces {
            said.push(SELECTS.to_owned());
        }
        for place in of_namespaces(&grant.namespaces, &scope) {
            let held = remarks.entry(place).or_default();
            for remark in &said {
                if !held.contains(remark) {
                    held.push(remark.clone());
                }
            }
        }
    }
    remarks
}

/// Leaves out what another rule of the same place covers, or one that holds everywhere.
fn tidy(places: Rules) -> Rules {
    let everywhere = places
        .get(&RoleScope::Everywhere)
        .cloned()
        .unwrap_or_default();
    let tidied = places.into_iter().map(|(place, rules)| {
        let wider: &[PolicyRule] = match place {
            RoleScope::Everywhere => &[],
            RoleScope::Namespace(_) => &everywhere,
        };
        let is_left = |(index, rule): &(usize, &PolicyRule)| {
            let by_other = rules.iter().enumerate().any(|(other, by)| {
                // Of two that cover each other the first one stays.
                other != *index && covers(by, rule) && (other < *index || !covers(rule, by))
            });
            !by_other && !wider.iter().any(|by| covers(by, rule))
        };
        let left = rules.iter().enumerate().filter(is_left);
        let left: Vec<PolicyRule> = left.map(|(_, rule)| rule.clone()).collect();
        (place, left)
    });
    tidied.filter(|(_, rules)| !rules.is_empty()).collect()
}

/// Whether `wide` allows all that `narrow` does.
fn covers(wide: &PolicyRule, narrow: &PolicyRule) -> bool {
    let all = |wide: &Option<Vec<String>>, narrow: &Option<Vec<String>>| {
        let wide = wide.as_deref().unwrap_or_default();
        let says = |name: &String| wide.iter().any(|held| held == "*" || held == name);
        narrow.iter().flatten().all(says)
    };
    let names = match (&wide.resource_names, &narrow.resource_names) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => narrow.iter().all(|name| wide.contains(name)),
    };
    names
        && all(&wide.api_groups, &narrow.api_groups)
        && all(&wide.resources, &narrow.resources)
        && narrow.verbs.iter().all(|verb| wide.verbs.contains(verb))
}

#[cfg(test)]
mod tests;
