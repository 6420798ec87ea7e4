//! Each row: grants, where the primary is watched, and the rules that come of it.

mod account;
mod selected;

use super::*;

const PRIMARY: &str = "{ apiGroups: [x.dev], resources: [things, things/status], verbs: [get, list, watch, patch], namespaces: all }";

fn everywhere() -> Scope {
    Scope::All
}

fn only(names: &[&str]) -> Scope {
    Scope::Namespaces(names.iter().map(|name| (*name).to_owned()).collect())
}

/// The rules as lines: `place: verbs on group/resource,... [names]`.
fn printed(grants: &str, scope: Scope) -> Vec<String> {
    let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
    let grants = grants.into_iter().map(Grant::acknowledged);
    let grants = Grants::new(grants.collect()).unwrap();
    let primary = GrantedPrimary {
        group: "x.dev".into(),
        plural: "things".into(),
        scope,
    };
    lines(&of_host(&needs(&grants, &[primary])))
}

/// What a plugin needs with these grants alone.
fn needs<'a>(grants: &'a Grants, primaries: &'a [GrantedPrimary]) -> PluginNeeds<'a> {
    const NO_HTTP: &HttpRules = &HttpRules { allow: Vec::new() };
    PluginNeeds {
        grants,
        http: NO_HTTP,
        primaries,
        crds: DefinitionPolicy::Ignore,
        carried: &[],
    }
}

fn lines(places: &BTreeMap<RoleScope, Vec<PolicyRule>>) -> Vec<String> {
    let line = |place: &RoleScope, rule: &PolicyRule| {
        let place = match place {
            RoleScope::Everywhere => "*",
            RoleScope::Namespace(name) => name,
        };
        let names = match &rule.resource_names {
            Some(names) => format!(" [{}]", names.join(",")),
            None => String::new(),
        };
        let list = |list: &Option<Vec<String>>| list.as_ref().unwrap().join(",");
        let (groups, resources) = (list(&rule.api_groups), list(&rule.resources));
        let verbs = rule.verbs.join(" ");
        format!("{place}: {verbs} on {resources} of {groups}{names}")
    };
    let lines = places
        .iter()
        .flat_map(|(place, rules)| rules.iter().map(move |rule| line(place, rule)));
    lines.collect()
}

/// The lines that are not about Events.
fn granted(grants: &str, scope: Scope) -> Vec<String> {
    let mut lines = printed(grants, scope);
    lines.retain(|line| !line.contains(" on events of "));
    lines
}

#[test]
fn a_grant_becomes_the_rule_that_it_looks_like() {
    let cases = [
        (
            "resources: [configmaps], verbs: [get]",
            "get on configmaps of ",
            "nothing is added",
        ),
        (
            "resources: [configmaps], verbs: [watch]",
            "list watch on configmaps of ",
            "an informer lists first",
        ),
        (
            "resources: [configmaps], verbs: [delete]",
            "get delete on configmaps of ",
            "what is deleted is read",
        ),
        (
            "resources: [configmaps], verbs: [patch, create]",
            "get create patch on configmaps of ",
            "an apply takes both, and what has a child's name is read",
        ),
        (
            "resources: [configmaps], verbs: ['*']",
            "get list watch create update patch delete deletecollection on configmaps of ",
            "a star is what grants know, not what RBAC knows",
        ),
        (
            "resources: [configmaps], verbs: [create]",
            "create on configmaps of ",
            "what is only created is not read",
        ),
        (
            "resources: [configmaps, '*/scale', 'configmaps/*'], verbs: [get]",
            "get on configmaps of ",
            "a pattern is no grant",
        ),
    ];
    for (grant, want, why) in cases {
        let grants = format!("[{{ apiGroups: [''], namespaces: all, {grant} }}]");
        let lines = granted(&grants, everywhere());
        let first: Vec<_> = lines
            .iter()
            .filter(|line| !line.contains("finalizers"))
            .collect();
        assert_eq!(first, [&format!("*: {want}")], "{why}");
    }
}

#[test]
fn a_wildcard_in_resources_leaves_out_secrets_and_what_no_plugin_gets() {
    let wild = |groups: &str| {
        let grant = format!(
            "[{{ apiGroups: [{groups}], resources: ['*'], verbs: [get], namespaces: all }}]"
        );
        let mut lines = printed(&grant, everywhere());
        lines.retain(|line| !line.contains(" on events of "));
        lines
    };
    let listed = |lines: &[String], group: &str| -> Vec<String> {
        let end = format!(" of {group}");
        let line = lines.iter().find(|line| line.ends_with(&end)).unwrap();
        let names = line.strip_prefix("*: get on ").unwrap();
        let names = names.strip_suffix(&end).unwrap().split(',');
        names.map(str::to_owned).collect()
    };
    // Where nothing is to be left out, the star stays.
    assert_eq!(wild("apps, x.dev"), ["*: get on * of apps,x.dev"]);
    let core = listed(&wild("''"), "");
    for name in ["configmaps", "pods", "pods/exec", "nodes", "nodes/status"] {
        assert!(core.iter().any(|held| held == name), "{name}: {core:?}");
    }
    for lines in [wild("''"), wild("'*'")] {
        let resources = lines.iter().flat_map(|line| line.split([' ', ',']));
        for name in resources {
            let never = ["secrets", "nodes/proxy", "leases", "plugins"];
            assert!(!never.contains(&name), "{lines:?}");
            assert!(!name.ends_with("/approval"), "{lines:?}");
        }
    }
    let all = wild("'*'");
    assert_eq!(listed(&all, ""), core);
    assert!(listed(&all, "certificates.k8s.io").contains(&"certificatesigningrequests".into()));
    let open = all
        .iter()
        .find(|line| line.contains("get on * of"))
        .unwrap();
    for group in ["apps", "batch", "rbac.authorization.k8s.io", "x.dev"] {
        assert!(open.contains(group), "{open}");
    }
    for group in ["windlass.dev", "coordination.k8s.io", "certificates.k8s.io"] {
        assert!(!open.contains(group), "{open}");
    }
    // What is named beside the wildcard is named.
    let named = "[{ apiGroups: [''], resources: ['*', secrets], verbs: [get], namespaces: all }]";
    let named = listed(&granted(named, everywhere()), "");
    assert_eq!(named.last().map(String::as_str), Some("secrets"));
}

#[test]
fn whoever_applies_roles_reads_why_they_are_powerful() {
    let grants = "[
        { apiGroups: [apps], resources: [deployments], verbs: [create] },
        { apiGroups: [''], resources: [secrets], verbs: [get], namespaces: [b] },
        { apiGroups: [''], resources: [configmaps], verbs: [create], namespaces: [c] }]";
    let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
    let primary = GrantedPrimary {
        group: "x.dev".into(),
        plural: "things".into(),
        scope: only(&["a"]),
    };
    let grants = grants.into_iter().map(Grant::acknowledged);
    let remarks = remarks(&Grants::new(grants.collect()).unwrap(), &[primary]);
    let of = |name: &str| remarks[&RoleScope::Namespace(name.into())].clone();
    assert_eq!(of("a").len(), 1);
    assert!(
        of("a")[0].starts_with("Powerful: a pod runs"),
        "{remarks:?}"
    );
    assert_eq!(of("b"), ["Powerful: it holds passwords, keys and tokens."]);
    assert_eq!(of("c"), [""; 0]);
}

#[test]
fn what_has_a_subresource_that_is_changed_may_be_read() {
    let status =
        "[{ apiGroups: [x.dev], resources: [things/status], verbs: [patch], namespaces: [a] }]";
    assert_eq!(
        granted(status, only(&["a"])),
        [
            "a: patch on things/status of x.dev",
            "a: get on things of x.dev"
        ]
    );
    let finalize =
        "[{ apiGroups: [''], resources: [namespaces/finalize], verbs: [update], namespaces: all }]";
    assert_eq!(
        granted(finalize, everywhere()),
        [
            "*: update on namespaces/finalize of ",
            "*: get on namespaces of "
        ]
    );
    // Granted anyway: nothing is added.
    assert_eq!(
        granted(&format!("[{PRIMARY}]"), everywhere()),
        ["*: get list watch patch on things,things/status of x.dev"]
    );
}

#[test]
fn names_restrict_all_but_what_an_informer_does() {
    let grant = |verbs: &str| {
        format!(
            "[{{ apiGroups: [''], resources: [configmaps], resourceNames: [a, b], verbs: [{verbs}], namespaces: [n] }}]"
        )
    };
    let cases: [(&str, &[&str]); 5] = [
        ("get, patch", &["n: get patch on configmaps of  [a,b]"]),
        ("delete", &["n: get delete on configmaps of  [a,b]"]),
        (
            "get, watch",
            &[
                "n: get on configmaps of  [a,b]",
                "n: list watch on configmaps of ",
            ],
        ),
        // A list is of a whole collection: this grant allows none.
        ("list", &[]),
        ("deletecollection", &[]),
    ];
    for (verbs, want) in cases {
        assert_eq!(granted(&grant(verbs), only(&["n"])), want, "{verbs}");
    }
}

#[test]
fn a_place_follows_from_the_grant_and_from_where_the_primary_is_watched() {
    let child = |namespaces: &str| {
        format!(
            "[{{ apiGroups: [''], resources: [configmaps], verbs: [get], namespaces: {namespaces} }}]"
        )
    };
    let rule = |place: &str| format!("{place}: get on configmaps of ");
    let cases = [
        ("all", only(&["a"]), vec![rule("*")]),
        ("same-as-primary", everywhere(), vec![rule("*")]),
        (
            "same-as-primary",
            only(&["a", "b"]),
            vec![rule("a"), rule("b")],
        ),
        ("[c]", everywhere(), vec![rule("c")]),
        ("[d, c]", only(&["a"]), vec![rule("c"), rule("d")]),
    ];
    for (namespaces, scope, want) in cases {
        let lines = granted(&child(namespaces), scope.clone());
        assert_eq!(lines, want, "{namespaces} {scope:?}");
    }
}

#[test]
fn events_may_be_written_where_the_plugin_sees_something() {
    let grants = "[
        { apiGroups: [x.dev], resources: [things], verbs: [get, list, watch], namespaces: [a] },
        { apiGroups: [''], resources: [configmaps], verbs: [get], namespaces: [b] },
        { apiGroups: [''], resources: [configmaps], verbs: [create, patch], namespaces: [c] }]";
    let mut lines = printed(grants, only(&["a"]));
    lines.retain(|line| line.contains(" on events of "));
    let events = "create patch on events of events.k8s.io";
    let texts = "patch on events of ";
    let want = ["a", "b"].map(|place| [events, texts].map(|right| format!("{place}: {right}")));
    assert_eq!(lines, want.concat());
}

#[test]
fn owner_references_take_a_right_only_of_plugins_that_make_children() {
    let maker = "{ apiGroups: [''], resources: [configmaps], verbs: [create, patch] }";
    let finalizers = |grants: &str, scope: Scope| -> Vec<String> {
        let mut lines = printed(grants, scope);
        lines.retain(|line| line.contains("finalizers"));
        lines
    };
    let right = "update on things/finalizers of x.dev";
    assert_eq!(
        finalizers(&format!("[{PRIMARY}, {maker}]"), everywhere()),
        [format!("*: {right}")]
    );
    assert_eq!(
        finalizers(&format!("[{maker}]"), only(&["a", "b"])),
        [format!("a: {right}"), format!("b: {right}")]
    );
    assert!(finalizers(&format!("[{PRIMARY}]"), everywhere()).is_empty());
}

#[test]
fn what_is_covered_already_is_not_said_again() {
    // The greeter: where it watches everywhere, the register's namespace is among that.
    let children = "{ apiGroups: [''], resources: [configmaps], verbs: [get, list, watch, create, patch, delete] }";
    let register = "{ apiGroups: [''], resources: [configmaps], verbs: [get, create, patch, delete], namespaces: [greetings] }";
    let grants = format!("[{PRIMARY}, {children}, {register}, {register}]");
    assert_eq!(
        printed(&grants, everywhere()),
        [
            "*: get list watch patch on things,things/status of x.dev",
            "*: get list watch create patch delete on configmaps of ",
            "*: update on things/finalizers of x.dev",
            "*: create patch on events of events.k8s.io",
            "*: patch on events of ",
        ]
    );
    let there = granted(&format!("[{register}, {register}]"), only(&["a"]));
    assert_eq!(
        there,
        [
            "a: update on things/finalizers of x.dev",
            "greetings: get create patch delete on configmaps of ",
        ]
    );
}

#[test]
fn what_the_host_reads_for_http_requests_is_read_by_name_where_it_is() {
    let http = serde_json::json!({ "allow": [{
        "origin": "https://a.example",
        "ca": { "configMap": { "namespace": "trust", "name": "ca", "key": "ca.crt" } },
        "inject": [{ "header": "Authorization", "value": "Bearer {token}", "secret": { "name": "api" } }],
    }, {
        "origin": "https://b.example",
        "allowPrivate": true,
        "credentials": "same-namespace",
        "inject": [{ "header": "X-Key", "value": "{key}" }],
    }] });
    let http = HttpRules::read(&http).unwrap();
    let primary = GrantedPrimary {
        group: "x.dev".into(),
        plural: "things".into(),
        scope: only(&["a"]),
    };
    let (grants, primaries) = (Grants::default(), [primary]);
    let needs = PluginNeeds {
        http: &http,
        ..needs(&grants, &primaries)
    };
    let mut places = of_host(&needs);
    for rules in places.values_mut() {
        rules.retain(|rule| *rule.resources.as_ref().unwrap() != ["events"]);
    }
    let line = |(place, rules): (&RoleScope, &Vec<PolicyRule>)| {
        let rules = rules.iter().map(|rule| {
            let names = rule.resource_names.clone().unwrap_or_default().join(",");
            format!("{} [{names}]", rule.resources.clone().unwrap().join(","))
        });
        format!("{place:?}: {}", rules.collect::<Vec<_>>().join("; "))
    };
    let lines: Vec<String> = places.iter().map(line).collect();
    let want = [
        // All of them, and so that one.
        "Namespace(\"a\"): secrets []",
        "Namespace(\"default\"): services [kubernetes]; endpointslices []",
        "Namespace(\"trust\"): configmaps [ca]",
    ];
    assert_eq!(lines, want);
}

#[test]
fn rights_on_definitions_follow_what_the_document_says_about_them() {
    use DefinitionPolicy::{Check, Ignore, Install};
    let crd = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.x.dev" },
        "spec": {
            "group": "x.dev",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1" }],
        },
    });
    let carried = Carried::read(&[crd.to_string()]).unwrap();
    let get = "*: get on customresourcedefinitions of apiextensions.k8s.io [things.x.dev]";
    let patch = "*: get patch on customresourcedefinitions of apiextensions.k8s.io [things.x.dev]";
    let create = "*: create on customresourcedefinitions of apiextensions.k8s.io";
    let events = [
        "default: create patch on events of events.k8s.io",
        "default: patch on events of ",
    ];
    let rows: [(_, &[Carried], Vec<&str>); 4] = [
        (Ignore, &carried, Vec::new()),
        (Check, &carried, [&[get], &events[..]].concat()),
        (Install, &carried, [&[patch, create], &events[..]].concat()),
        (Install, &[], Vec::new()),
    ];
    for (policy, carried, want) in rows {
        let grants = Grants::default();
        let needs = PluginNeeds {
            crds: policy,
            carried,
            ..needs(&grants, &[])
        };
        assert_eq!(lines(&of_host(&needs)), want, "{policy}");
    }
}
