//! Documents that are read, and what is said of others.

use std::path::Path;

use serde_json::json;

use super::explain::LATER;
use super::*;

const GOOD: &str = r#"
apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: { name: greeter }
spec:
  source: { file: greeter.wasm }
  config: { greeting: Ahoy }
  grants:
    - apiGroups: [examples.windlass.dev]
      resources: [greetings]
      verbs: [get, list, watch]
      namespaces: all
  limits: { memory: 32Mi, cpu: 500ms, deadline: 10s, concurrency: 2 }
"#;

fn read(text: &str) -> Result<Vec<PluginDocument>, String> {
    parse(&Origin::File("plugins/greeter.yaml".into()), text).map_err(|error| error.to_string())
}

#[test]
fn a_document_is_read_whole() {
    let plugin = read(GOOD).unwrap().remove(0);
    assert_eq!(plugin.name, "greeter");
    assert_eq!(
        plugin.source.file(),
        Some(Path::new("plugins/greeter.wasm"))
    );
    assert_eq!(plugin.config, r#"{"greeting":"Ahoy"}"#);
    assert_eq!(
        (plugin.limits.memory, plugin.limits.concurrency),
        (32 << 20, 2)
    );
    assert_eq!(
        plugin.limits.api_calls, 100,
        "what is not said has its default"
    );
}

#[test]
fn numbers_are_read_as_kubernetes_reads_them() {
    let text = GOOD
        .replace("{ greeting: Ahoy }", "{ mode: 0400, y: on }")
        .replace("concurrency: 2", "concurrency: 010");
    let plugin = read(&text).unwrap().remove(0);
    assert_eq!(plugin.config, r#"{"mode":256,"true":true}"#);
    assert_eq!(plugin.limits.concurrency, 8);
}

#[test]
fn an_unknown_field_is_named_with_its_place_and_the_nearest_valid_one() {
    let error = read(&GOOD.replace("  grants:", "  gants:")).unwrap_err();
    assert!(
        error.starts_with("plugins/greeter.yaml:8:3: unknown field `gants`"),
        "{error}"
    );
    assert!(error.contains("did you mean `grants`?"), "{error}");
    let page = include_str!("../../../../docs/plugin-document.md").replace('\n', " ");
    for planned in LATER {
        let sentence = format!("`{planned}` is planned, and is an error");
        assert!(
            page.contains(&sentence),
            "docs/plugin-document.md: {sentence}"
        );
    }
    let error = read(&GOOD.replace("  grants:", "  verify:")).unwrap_err();
    assert!(error.contains("`verify` is planned"), "{error}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        (
            "source: { file: greeter.wasm }",
            "source: 7",
            "plugins/greeter.yaml:6:11",
        ),
        ("verbs: [get, list, watch]", "verbs: get", "expected a list"),
        (
            "source: { file: greeter.wasm }",
            "source: {}",
            "plugins/greeter.yaml:6:11: plugin greeter: spec.source: must name where the component is: `file`, `oci` or `configMap`",
        ),
        (
            "name: greeter",
            "name: Greeter_1",
            "plugins/greeter.yaml:4:19: plugin Greeter_1: metadata.name: must be a DNS label",
        ),
        (
            "kind: Plugin",
            "kind: Pod",
            "this host reads Plugin of windlass.dev/v1alpha1",
        ),
        (
            "kind: Plugin",
            "kind: ConfigMap\ndata: {}",
            "holds a ConfigMap of windlass.dev/v1alpha1; this host reads Plugin",
        ),
        (
            "concurrency: 2",
            "concurrency: many",
            "expected a whole number",
        ),
        ("memory: 32Mi", "memory: 32MB", "plugins/greeter.yaml:13:21"),
        (
            "memory: 32Mi",
            "memory: 1Ki",
            "plugins/greeter.yaml:13:21: plugin greeter: spec.limits.memory: must be",
        ),
        (
            "verbs: [get, list, watch]",
            "verbs: [get, see]",
            "plugins/greeter.yaml:11:20: plugin greeter: spec.grants[0].verbs[1]: \"see\" is not one of",
        ),
        ("namespaces: all", "namespaces: some", "namespaces"),
        (
            "config: { greeting: Ahoy }",
            "config: { a: 1, a: 2 }",
            "duplicate",
        ),
    ];
    for (from, to, want) in cases {
        assert!(GOOD.contains(from), "{from}");
        let error = read(&GOOD.replace(from, to)).unwrap_err();
        assert!(error.contains(want), "{to}: {error}");
    }
}

#[test]
fn a_service_account_has_a_namespace_and_a_name() {
    let account = |written: &str| {
        let spec = format!("spec:\n  serviceAccount: {written}\n");
        read(&GOOD.replace("spec:\n", &spec))
    };
    assert_eq!(read(GOOD).unwrap()[0].service_account, None);
    let plugin = account("{ namespace: apps, name: greeter.v1 }").unwrap();
    let user = plugin[0].service_account.as_ref().unwrap().user();
    assert_eq!(user, "system:serviceaccount:apps:greeter.v1");
    let rows = [
        ("greeter", "plugins/greeter.yaml:6:19: expected a mapping"),
        ("{ name: greeter }", "missing field `namespace`"),
        ("{ namespace: apps }", "missing field `name`"),
        (
            "{ namespace: apps, names: greeter }",
            "did you mean `name`?",
        ),
        (
            "{ namespace: '', name: greeter }",
            "plugins/greeter.yaml:6:32: plugin greeter: spec.serviceAccount.namespace: is empty: it must be the name of a namespace",
        ),
        (
            "{ namespace: apps, name: ' ' }",
            "plugins/greeter.yaml:6:44: plugin greeter: spec.serviceAccount.name: is empty: it must be the name of a ServiceAccount",
        ),
        (
            "{ namespace: a.b, name: greeter }",
            "spec.serviceAccount.namespace: is \"a.b\": it must be",
        ),
        (
            "{ namespace: apps, name: 'a:b' }",
            "spec.serviceAccount.name: is \"a:b\": it must be",
        ),
    ];
    for (written, want) in rows {
        let error = account(written).unwrap_err();
        assert!(error.contains(want), "{written}: {error}");
    }
}

#[test]
fn only_a_plugin_with_an_account_binds_roles_and_names_them() {
    let grant = |verbs: &str, more: &str| {
        format!(
            "verbs: [get, list, watch]\n      namespaces: all\n    - {{ apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: {verbs}, namespaces: all{more} }}\n"
        )
    };
    let old = "verbs: [get, list, watch]\n      namespaces: all\n";
    let with = |account: &str, verbs: &str, more: &str| {
        let text = GOOD.replace(old, &grant(verbs, more));
        read(&text.replace("spec:\n", &format!("spec:\n{account}")))
    };
    let account = "  serviceAccount: { namespace: apps, name: greeter }\n";
    let named = ", resourceNames: [view]";
    let acknowledged =
        ", resourceNames: [view], acknowledge: [clusterroles.rbac.authorization.k8s.io/bind/view]";
    // (account, verbs, the rest of the grant; what is wrong)
    let rows = [
        (account, "[bind]", acknowledged, None),
        (
            "",
            "[bind]",
            acknowledged,
            Some(
                "spec.grants[1].verbs[0]: \"bind\" is only for a plugin with a service account of its own: set spec.serviceAccount",
            ),
        ),
        (
            account,
            "[bind]",
            named,
            Some("write `acknowledge: [clusterroles.rbac.authorization.k8s.io/bind/view]`"),
        ),
        (
            account,
            "[bind]",
            "",
            Some("a grant for it names the roles in resourceNames"),
        ),
        (
            account,
            "[escalate]",
            named,
            Some("the verb escalate: a plugin is never given that"),
        ),
    ];
    for (account, verbs, more, want) in rows {
        match (with(account, verbs, more), want) {
            (Ok(_), None) => {}
            (Err(error), Some(want)) => assert!(error.contains(want), "{verbs}{more}: {error}"),
            (read, want) => panic!("{verbs}{more}: {read:?} {want:?}"),
        }
    }
}

#[test]
fn every_grant_that_is_wrong_is_told_at_once() {
    let powerful = "verbs: [get, list, watch]\n      namespaces: all\n    - { apiGroups: [''], resources: [secrets], verbs: [get] }\n    - { apiGroups: [''], resources: [pods], verbs: [create] }\n";
    let error = read(&GOOD.replace(
        "verbs: [get, list, watch]\n      namespaces: all\n",
        powerful,
    ))
    .unwrap_err();
    let mut lines = error.lines();
    let want = "plugins/greeter.yaml:13:7: plugin greeter: spec.grants[1]: secrets is powerful";
    assert!(lines.next().unwrap().starts_with(want), "{error}");
    let want = "plugins/greeter.yaml:14:7: plugin greeter: spec.grants[2]: pods is powerful";
    assert!(lines.next().unwrap().starts_with(want), "{error}");
    assert!(
        error.ends_with("write `acknowledge: [pods/create]` in this grant"),
        "{error}"
    );
}

#[test]
fn several_documents_in_a_file_and_none_are_both_fine() {
    let second = GOOD.replace("name: greeter", "name: second");
    assert_eq!(read(&format!("{GOOD}---{second}")).unwrap().len(), 2);
    assert!(read("# nothing yet\n").unwrap().is_empty());
}

#[test]
fn a_component_is_in_one_place() {
    let file = |source: &str| read(&GOOD.replace("{ file: greeter.wasm }", source));
    let pinned = format!("r.example/greeter@sha256:{}", "a".repeat(64));
    let oci = format!("{{ oci: '{pinned}', pullSecret: r }}");
    let plugin = file(&oci).unwrap().remove(0);
    assert_eq!(plugin.source.to_string(), pinned);
    assert_eq!(plugin.source.interval(), None, "a digest is not looked up");
    let ComponentSource::Oci(source) = &plugin.source else {
        panic!("{plugin:?}");
    };
    assert_eq!(source.pull_secret.as_deref(), Some("r"));
    let plugin = file("{ oci: r.example/greeter:v1, interval: 1m }").unwrap();
    let interval = plugin[0].source.interval();
    assert_eq!(interval, Some(Duration::from_secs(60)));
    let map = "{ configMap: { namespace: x, name: a, key: g.wasm.gz, parts: [b, c], digest: sha256:0000000000000000000000000000000000000000000000000000000000000000 } }";
    let plugin = file(map).unwrap().remove(0);
    assert_eq!(plugin.source.to_string(), "configmap x/a+b+c");
    let rows = [
        ("{ file: x, oci: y }", "spec.source: must name only one"),
        (
            "{ file: x, interval: 1m }",
            "spec.source.interval: is only for `oci`",
        ),
        (
            "{ file: x, pullSecret: y }",
            "spec.source.pullSecret: is only for `oci`",
        ),
        (
            "{ oci: r.example/x, interval: 1s }",
            "spec.source.interval: must be at least 10s",
        ),
        (
            "{ oci: R.example/X }",
            "spec.source.oci: the reference `R.example/X` is wrong",
        ),
        (
            "{ oci: r.example/x, pullSecret: A }",
            "spec.source.pullSecret: must be the name of a Secret",
        ),
        (
            "{ configMap: { namespace: x/y, name: a, key: k } }",
            "spec.source.configMap.namespace: must be",
        ),
        (
            "{ configMap: { namespace: x, name: a/b, key: k } }",
            "spec.source.configMap.name: must",
        ),
        (
            "{ configMap: { namespace: x, name: a, key: k, parts: [..] } }",
            "spec.source.configMap.parts: must",
        ),
        (
            "{ configMap: { namespace: x, name: a, key: ../k } }",
            "spec.source.configMap.key: must",
        ),
        (
            "{ configMap: { namespace: x, name: a, key: k, digest: sha256:1 } }",
            "spec.source.configMap.digest: must",
        ),
        (
            "{ configMap: { namespace: x, name: a, key: k } }",
            "spec.source.configMap.digest: must be the digest of the component",
        ),
    ];
    for (source, want) in rows {
        let error = file(source).unwrap_err();
        assert!(
            error.contains(&format!("plugin greeter: {want}")),
            "{source}: {error}"
        );
    }
}

#[test]
fn an_object_is_the_same_document_without_files() {
    let object = |source: serde_json::Value| {
        json!({
            "apiVersion": API_VERSION, "kind": KIND,
            "metadata": { "name": "greeter", "uid": "1", "generation": 3 },
            "spec": {
                "source": source, "config": { "a": 1 },
                "serviceAccount": { "namespace": "apps", "name": "greeter" },
            },
            "status": { "version": "1" },
        })
    };
    let good = object(json!({ "oci": "r.example/greeter:v1" }));
    let (plugin, text) = of_object(&good).unwrap();
    assert_eq!(plugin.origin, Origin::Object("greeter".into()));
    assert_eq!(plugin.config, r#"{"a":1}"#);
    let account = plugin.service_account.as_ref().map(ToString::to_string);
    assert_eq!(account.as_deref(), Some("apps/greeter"));
    assert_eq!(parse(&plugin.origin, &text).unwrap(), [plugin]);
    let mut newer = good.clone();
    newer["metadata"]["generation"] = json!(4);
    newer["status"] = json!({});
    assert_eq!(of_object(&newer).unwrap().1, text, "only the spec counts");
    let rows = [
        (
            json!({ "file": "g.wasm" }),
            "spec.source.file: is only for documents in files",
        ),
        (
            json!({ "oci": "oci:/etc" }),
            "spec.source.oci: must name a registry",
        ),
        (json!({}), "spec.source: must name where the component is"),
    ];
    for (source, want) in rows {
        let error = of_object(&object(source)).unwrap_err().to_string();
        let want = format!("plugin.windlass.dev/greeter: {want}");
        assert!(error.starts_with(&want), "{error}");
    }
}
