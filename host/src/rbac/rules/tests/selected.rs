//! Grants by the labels of namespaces.

use super::*;
use windlass_kube::api::ServiceAccount;

#[test]
fn what_is_granted_by_labels_is_a_cluster_role_and_the_host_lists_namespaces() {
    let grants = "[
        { apiGroups: [x.dev], resources: [things], verbs: [get, list, watch], namespaceSelector: { matchLabels: { team: shop } } },
        { apiGroups: [''], resources: [configmaps], verbs: [get] }]";
    let lines = printed(grants, everywhere());
    let want = [
        "*: get list watch on things of x.dev",
        "*: get on configmaps of ",
        "*: create patch on events of events.k8s.io",
        "*: patch on events of ",
        "*: list watch on namespaces of ",
    ];
    assert_eq!(lines, want);
}

#[test]
fn only_a_host_lists_namespaces() {
    let grants = "[{ apiGroups: [x.dev], resources: [things], verbs: [get, list, watch], namespaceSelector: {} }]";
    let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
    let grants = Grants::new(grants).unwrap();
    let primary = GrantedPrimary {
        group: "x.dev".into(),
        plural: "things".into(),
        scope: Scope::All,
    };
    let account = ServiceAccount::new("shop", "greeter").unwrap();
    let primaries = [primary];
    let shared = shared_out(&needs(&grants, &primaries), &account, Impersonation::Legacy);
    let lists = "*: list watch on namespaces of ".to_owned();
    assert!(lines(&shared.host).contains(&lists));
    assert!(!lines(&shared.account).contains(&lists));
}

#[test]
fn the_roles_say_that_the_host_holds_the_plugin_to_the_labels() {
    let grants = "[
        { apiGroups: [''], resources: [configmaps], verbs: [get], namespaceSelector: {} },
        { apiGroups: [''], resources: [services], verbs: [get], namespaceSelector: {} },
        { apiGroups: [''], resources: [pods], verbs: [get], namespaces: [a] }]";
    let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
    let remarks = remarks(&Grants::new(grants).unwrap(), &[]);
    assert_eq!(remarks[&RoleScope::Everywhere], [SELECTS]);
    assert_eq!(remarks[&RoleScope::Namespace("a".into())], [""; 0]);
}
