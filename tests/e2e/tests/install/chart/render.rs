//! What the chart renders and refuses, and whether the API server takes every field of it.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use windlass_e2e::{DEADLINE, HOME, apply, eventually, workspace};

use crate::chart::{Chart, everything, kubectl, object};

/// A definition whose limit Helm would write as a float.
pub(crate) const THINGS: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.example.com, annotations: { example.com/from: elsewhere } }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: things, singular: thing, kind: Thing, listKind: ThingList }
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, properties: { note: { type: string, maxLength: 5000000 } } } }
";

#[test]
fn helm_lint_finds_nothing_whatever_is_turned_on() -> Result<()> {
    let chart = Chart::new()?;
    for values in [json!({}), everything(), json!({ "namespaces": ["a", "b"] })] {
        let said = chart.run(&["lint", "--strict"], &values)?;
        assert!(said.contains("0 chart(s) failed"), "{said}");
        assert!(!said.contains("[WARNING]"), "{said}");
    }
    Ok(())
}

#[test]
fn a_value_that_does_not_exist_or_cannot_be_is_refused_by_its_name() -> Result<()> {
    let chart = Chart::new()?;
    for (values, name) in [
        (json!({ "replicas": 3 }), "'replicas' not allowed"),
        (json!({ "image": { "tga": "1" } }), "'tga' not allowed"),
        (json!({ "image": { "digest": "1" } }), "/image/digest"),
        (json!({ "replicaCount": "2" }), "/replicaCount"),
        (
            json!({ "extraArgs": ["config=/elsewhere"] }),
            "/extraArgs/0",
        ),
        (json!({ "namespaces": ["Shop"] }), "/namespaces/0"),
        (
            json!({ "networkPolicy": { "enabled": true } }),
            "/networkPolicy/apiServer",
        ),
        (json!({ "plugins": { "greeter": {} } }), "/plugins/greeter"),
        (
            json!({ "serviceAccount": { "create": false } }),
            "serviceAccount.name",
        ),
        (
            json!({ "plugins": { "greeter": { "source": { "file": "a" }, "grant": [] } } }),
            "'grant' not allowed",
        ),
        (
            json!({ "plugins": { "Greeter": { "source": {} } } }),
            "Greeter",
        ),
    ] {
        let refused = chart.render(HOME, &values).err();
        let error = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(name), "{values}: {error}");
    }
    Ok(())
}

/// docs/plugin-document.md lists the fields of a spec; a test of the host holds that page against its code.
#[test]
fn the_schema_of_a_plugin_has_the_fields_of_the_document() -> Result<()> {
    let read = |file: &str| fs::read_to_string(workspace().join(file));
    let page = read("docs/plugin-document.md")?;
    let fields = page.lines().filter_map(|line| {
        let field = line
            .strip_prefix("| `spec.")?
            .split(['.', '`', '['])
            .next()?;
        Some(field.to_owned())
    });
    let schema: Value = serde_json::from_str(&read("deploy/chart/values.schema.json")?)?;
    let plugin = &schema["properties"]["plugins"]["additionalProperties"]["properties"];
    let properties = plugin.as_object().context("a plugin has properties")?;
    let (page, schema): (BTreeSet<_>, BTreeSet<_>) =
        (fields.collect(), properties.keys().cloned().collect());
    assert_eq!(page, schema);
    Ok(())
}

#[tokio::test]
async fn the_api_server_takes_every_field_in_a_namespace_that_enforces_restricted() -> Result<()> {
    let namespace = "strict";
    let text = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": namespace,
            "labels": { "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted" },
        },
    });
    kubectl(&["apply", "-f", "-"], &text.to_string()).await?;
    apply("tests/e2e/tests/install/chart/monitoring.crd.yaml").await?;
    eventually(DEADLINE, "the kinds are served", async || {
        let kinds = ["get", "servicemonitors,prometheusrules", "-A"];
        kubectl(&kinds, "").await.map(Some)
    })
    .await?;
    // Without a trace of it, or a pod of one set of values would be one that the next set cannot change.
    let strict = [
        "apply",
        "--server-side",
        "--validate=strict",
        "--dry-run=server",
        "-f",
        "-",
    ];
    let chart = Chart::with_definition(THINGS)?;
    let addresses = json!({ "enabled": true, "apiServer": ["192.0.2.1/32"] });
    let namespaced = json!({ "namespaces": [namespace], "networkPolicy": addresses });
    for values in [json!({}), everything(), namespaced] {
        let objects = chart.render(namespace, &values)?;
        let text: String = objects.iter().map(|it| format!("---\n{it}\n")).collect();
        let said = kubectl(&strict, &text).await?;
        assert_eq!(said.lines().count(), objects.len(), "{said}");
    }
    // What the check is worth.
    let mut objects = chart.render(namespace, &json!({}))?;
    let wrong = objects.iter_mut().find(|it| it["kind"] == "Deployment");
    wrong.context("a Deployment")?["spec"]["template"]["spec"]["priority_class"] = json!("high");
    let text: String = objects.iter().map(|it| format!("---\n{it}\n")).collect();
    let error = kubectl(&strict, &text).await.err().map(|it| it.to_string());
    let error = error.unwrap_or_default();
    assert!(error.contains("priority_class"), "{error}");
    Ok(())
}

#[test]
fn a_release_in_namespaces_has_no_object_outside_of_them() -> Result<()> {
    let mut values = everything();
    values["namespaces"] = json!(["shop", "office"]);
    let chart = Chart::with_definition(THINGS)?;
    let objects = chart.render("team", &values)?;
    for object in &objects {
        let namespace = object["metadata"]["namespace"].as_str();
        let among = ["team", "shop", "office"].map(Some).contains(&namespace);
        assert!(among, "{object:#}");
    }
    for namespace in ["shop", "office"] {
        let is_role = |object: &&Value| {
            object["kind"] == "Role" && object["metadata"]["namespace"] == namespace
        };
        let role = objects.iter().find(is_role).context("a role")?;
        let rules = role["rules"].as_array().context("rules")?;
        assert!(rules.contains(&values["rbac"]["rules"][0]), "{role:#}");
    }
    Ok(())
}

#[test]
fn no_role_has_a_wildcard_and_the_host_protects_each_by_its_name() -> Result<()> {
    let chart = Chart::new()?;
    for values in [json!({}), json!({ "namespaces": ["shop"] })] {
        for release in ["windlass", "windlass-two", "prod"] {
            let words = ["template", release, "--namespace", HOME];
            let objects = windlass_e2e::documents(&chart.run(&words, &values)?)?;
            let kind = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
            let roles = objects.iter().filter(|it| kind(it).contains("Role"));
            let mut count = 0;
            for role in roles {
                count += 1;
                let name = role["metadata"]["name"].as_str().unwrap_or_default();
                // As `is_hosts_own` of host/policy/src/grants/power.rs knows them.
                assert!(
                    name == "windlass" || name.starts_with("windlass-"),
                    "{name}"
                );
                assert!(!role["rules"].to_string().contains('*'), "{role:#}");
            }
            assert_eq!(count, 4, "two roles, and their bindings");
        }
    }
    Ok(())
}

#[test]
fn each_definition_is_there_and_stays_when_the_release_goes_unless_told_otherwise() -> Result<()> {
    let chart = Chart::with_definition(THINGS)?;
    let annotations = |values: Value| -> Result<Value> {
        let objects = chart.render(HOME, &values)?;
        let crd = object(&objects, "CustomResourceDefinition", "things.example.com")?;
        let note = "/spec/versions/0/schema/openAPIV3Schema/properties/note/maxLength";
        assert_eq!(crd.pointer(note), Some(&json!(5_000_000)));
        Ok(crd["metadata"]["annotations"].clone())
    };
    let keep = annotations(json!({}))?;
    assert_eq!(
        keep,
        json!({ "example.com/from": "elsewhere", "helm.sh/resource-policy": "keep" })
    );
    let go = annotations(json!({ "crds": { "keep": false } }))?;
    assert_eq!(go, json!({ "example.com/from": "elsewhere" }));
    let none = chart.render(HOME, &json!({ "crds": { "enabled": false } }))?;
    assert!(object(&none, "CustomResourceDefinition", "things.example.com").is_err());
    Ok(())
}

#[test]
fn a_document_keeps_its_numbers_and_an_image_its_digest() -> Result<()> {
    let chart = Chart::new()?;
    let digest = format!("sha256:{}", "0".repeat(64));
    let spec =
        json!({ "source": { "file": "greeter.wasm" }, "limits": { "hostMemory": 268_435_456 } });
    let values = json!({ "plugins": { "greeter": spec }, "image": { "repository": "registry.example.com/windlass", "digest": digest } });
    let objects = chart.render(HOME, &values)?;
    let documents = object(&objects, "ConfigMap", "windlass-documents")?;
    let text = documents["data"]["greeter.yaml"]
        .as_str()
        .context("a document")?;
    assert!(text.contains("\"hostMemory\": 268435456"), "{text}");
    let document: Value = serde_json::from_str(text)?;
    assert_eq!(document["spec"], spec);
    let image = "/spec/template/spec/containers/0/image";
    let deployment = object(&objects, "Deployment", "windlass")?;
    let expected = format!("registry.example.com/windlass@{digest}");
    assert_eq!(deployment.pointer(image), Some(&json!(expected)));
    Ok(())
}

/// But for labels, the ConfigMap of `plugins`, and what Helm's users see.
#[test]
fn the_chart_and_kustomize_run_the_same_pod_of_the_same_version() -> Result<()> {
    let chart = Chart::new()?;
    let objects = chart.render(HOME, &json!({}))?;
    let of_chart = object(&objects, "Deployment", "windlass")?;
    let text = fs::read_to_string(workspace().join("deploy/base/deployment.yaml"))?;
    let of_base: Value = windlass_e2e::documents(&text)?.remove(0);
    let pod = |deployment: &Value| {
        let mut spec = deployment["spec"]["template"]["spec"].clone();
        spec["containers"][0]["imagePullPolicy"] = Value::Null;
        spec["topologySpreadConstraints"][0]["labelSelector"] = Value::Null;
        spec["volumes"][0] = Value::Null;
        spec
    };
    assert_eq!(pod(of_chart), pod(&of_base));
    let version = env!("CARGO_PKG_VERSION");
    let image = "/spec/template/spec/containers/0/image";
    assert_eq!(
        of_chart.pointer(image),
        Some(&json!(format!("windlass:{version}")))
    );
    Ok(())
}
