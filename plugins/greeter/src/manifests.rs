//! What the greeter applies: a Greeting's children, and its entry in the register.

use serde_json::json;
use windlass_sdk::{Manifest, ObjectRef};

use crate::Greeting;

/// Where the register is.
const REGISTER: &str = "greetings";

/// The text, for the pods to serve.
pub(crate) fn config_map(greeting: &Greeting, text: &str) -> Manifest {
    greeting
        .child("v1", "ConfigMap", child_name(greeting))
        .data("index.html", text)
}

/// The pods that serve the text.
pub(crate) fn deployment(greeting: &Greeting, image: &str) -> Manifest {
    let labels = json!({ "examples.windlass.dev/greeting": greeting.name() });
    greeting
        .child("apps/v1", "Deployment", child_name(greeting))
        .spec(json!({
            "replicas": greeting.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "containers": [{
                        "name": "web",
                        "image": image,
                        "command": ["httpd", "-f", "-p", "8080", "-h", "/www"],
                        "ports": [{ "containerPort": 8080 }],
                        "volumeMounts": [{ "name": "www", "mountPath": "/www" }],
                    }],
                    "volumes": [{ "name": "www", "configMap": { "name": child_name(greeting) } }],
                },
            },
        }))
}

/// What both children are called.
fn child_name(greeting: &Greeting) -> String {
    format!("{}-greeting", greeting.name())
}

/// The entry in the register.
pub(crate) fn entry(greeting: &Greeting, text: &str) -> Manifest {
    Manifest::new(&entry_name(greeting))
        .data("of", greeting.reference().to_string())
        .data("text", text)
}

/// The entry's name: by UID, so that two Greetings of one name in turn never share an entry.
pub(crate) fn entry_name(greeting: &Greeting) -> ObjectRef {
    ObjectRef::new(
        "v1",
        "ConfigMap",
        REGISTER,
        format!("greeting-{}", greeting.metadata.uid),
    )
}
