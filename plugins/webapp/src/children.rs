//! What a WebApp becomes.

use serde_json::{Value, json};
use windlass_sdk::{Manifest, ObjectRef};

use crate::{Autoscale, LABEL, WebApp};

/// The children. The Deployment is the last, so that its pods find the others as they are now.
pub(crate) fn children(app: &WebApp, checksum: &str) -> Vec<Manifest> {
    let mut children = vec![config_map(app), service(app)];
    if app.spec.replicas > 1 {
        children.push(disruption_budget(app));
    }
    if let Some(host) = &app.spec.host {
        children.push(ingress(app, host));
    }
    if let Some(scale) = &app.spec.autoscale {
        children.push(autoscaler(app, scale));
    }
    children.push(deployment(app, checksum));
    children
}

/// Where the Deployment is.
pub(crate) fn deployment_of(app: &WebApp) -> ObjectRef {
    ObjectRef {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        ..app.reference()
    }
}

/// The labels of the pods.
fn labels(app: &WebApp) -> Value {
    json!({ LABEL: app.name() })
}

fn deployment(app: &WebApp, checksum: &str) -> Manifest {
    let env_from = app.spec.env_from.iter().map(|source| {
        let field = if source.kind == "Secret" {
            "secretRef"
        } else {
            "configMapRef"
        };
        json!({ field: { "name": source.name } })
    });
    app.child("apps/v1", "Deployment", app.name()).spec(json!({
        "replicas": app.spec.replicas,
        "selector": { "matchLabels": labels(app) },
        "template": {
            "metadata": {
                "labels": labels(app),
                // Another template rolls the pods.
                "annotations": { "examples.windlass.dev/checksum": checksum },
            },
            "spec": {
                "containers": [{
                    "name": "web",
                    "image": app.spec.image,
                    "ports": [{ "name": "http", "containerPort": app.spec.port }],
                    "envFrom": env_from.collect::<Vec<_>>(),
                    "volumeMounts": [{ "name": "config", "mountPath": "/etc/app" }],
                    "readinessProbe": { "tcpSocket": { "port": "http" } },
                }],
                "volumes": [{ "name": "config", "configMap": { "name": app.name() } }],
            },
        },
    }))
}

fn config_map(app: &WebApp) -> Manifest {
    app.child("v1", "ConfigMap", app.name())
        .field("data", json!(app.spec.config))
}

fn service(app: &WebApp) -> Manifest {
    app.child("v1", "Service", app.name()).spec(json!({
        "selector": labels(app),
        "ports": [{ "name": "http", "port": 80, "targetPort": "http" }],
    }))
}

fn disruption_budget(app: &WebApp) -> Manifest {
    app.child("policy/v1", "PodDisruptionBudget", app.name())
        .spec(json!({ "maxUnavailable": 1, "selector": { "matchLabels": labels(app) } }))
}

fn ingress(app: &WebApp, host: &str) -> Manifest {
    let backend = json!({ "service": { "name": app.name(), "port": { "name": "http" } } });
    let paths = json!([{ "path": "/", "pathType": "Prefix", "backend": backend }]);
    let tls = app.spec.tls_secret.as_ref();
    let tls = tls.map(|secret| json!({ "hosts": [host], "secretName": secret }));
    app.child("networking.k8s.io/v1", "Ingress", app.name())
        .spec(json!({
            "rules": [{ "host": host, "http": { "paths": paths } }],
            "tls": Vec::from_iter(tls),
        }))
}

fn autoscaler(app: &WebApp, scale: &Autoscale) -> Manifest {
    let target = json!({ "type": "Utilization", "averageUtilization": scale.cpu });
    app.child("autoscaling/v2", "HorizontalPodAutoscaler", app.name()).spec(json!({
        // The WebApp and not the Deployment, whose replicas this plugin applies.
        "scaleTargetRef": { "apiVersion": app.api_version, "kind": app.kind, "name": app.name() },
        "minReplicas": scale.min,
        "maxReplicas": scale.max,
        "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": target } }],
    }))
}
