//! The roles of a plugin with a service account, and those of its host.

use super::*;
use windlass_kube::api::ServiceAccount;

#[test]
fn the_rules_of_a_plugin_with_an_account_are_shared_out() {
    let grants = format!(
        "[{PRIMARY}, {{ apiGroups: [''], resources: [configmaps], verbs: [get, list, watch, create, patch, delete] }},
          {{ apiGroups: [''], resources: [secrets], resourceNames: [key], verbs: [get], namespaces: [vault] }}]"
    );
    let grants: Vec<Grant> = serde_saphyr::from_str(&grants).unwrap();
    let grants = grants.into_iter().map(Grant::acknowledged);
    let grants = Grants::new(grants.collect()).unwrap();
    let primaries = [GrantedPrimary {
        group: "x.dev".into(),
        plural: "things".into(),
        scope: everywhere(),
    }];
    let account = ServiceAccount::new("apps", "greeter").unwrap();
    let needs = needs(&grants, &primaries);
    let shared = |how| shared_out(&needs, &account, how);
    let legacy = shared(Impersonation::Legacy);
    let of_account = [
        "*: get list watch patch on things,things/status of x.dev",
        "*: get list watch create patch delete on configmaps of ",
        "*: update on things/finalizers of x.dev",
        "*: create patch on events of events.k8s.io",
        "*: patch on events of ",
        "vault: get on secrets of  [key]",
    ];
    assert_eq!(lines(&legacy.account), of_account);
    let of_stores = [
        "*: list watch on things of x.dev",
        "*: list watch on configmaps of ",
        "*: create on subjectaccessreviews of authorization.k8s.io",
    ];
    let acts = ["apps: impersonate on serviceaccounts of  [greeter]"];
    assert_eq!(lines(&legacy.host), [&of_stores[..], &acts].concat());
    let constrained = shared(Impersonation::Constrained);
    assert_eq!(lines(&constrained.account), of_account);
    let acts =
        "apps: impersonate:serviceaccount on serviceaccounts of authentication.k8s.io [greeter]";
    let host = lines(&constrained.host);
    assert!(host.iter().any(|line| line == acts), "{host:#?}");
    for line in of_account {
        let (place, rest) = line.split_once(": ").unwrap();
        let (verbs, on) = rest.split_once(" on ").unwrap();
        let verbs = verbs
            .split(' ')
            .map(|verb| format!("impersonate-on:serviceaccount:{verb}"));
        let want = format!("{place}: {} on {on}", verbs.collect::<Vec<_>>().join(" "));
        assert!(host.contains(&want), "{want}\n{host:#?}");
    }
    assert_eq!(
        host.len(),
        of_stores.len() + of_account.len() + 1,
        "{host:#?}"
    );
}
