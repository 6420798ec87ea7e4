//! The Plugin documents of attackers.

use serde_json::{Value, json};
use windlass_e2e::{ALL, Acknowledge};

/// One document.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) name: String,
    /// The file of its component.
    pub(crate) component: String,
    pub(crate) config: Value,
    pub(crate) limits: Value,
    /// Where it may do what attackers may.
    pub(crate) namespaces: Vec<String>,
    /// Whether it may also read Secrets there.
    pub(crate) reads_secrets: bool,
}

impl Document {
    /// The document as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin",
            "metadata": { "name": self.name },
            "spec": {
                "source": { "file": self.component },
                "config": self.config, "limits": self.limits, "grants": self.grants(),
            },
        })
    }

    /// What attackers are granted: to read Greetings, and everything about ConfigMaps and Bags beside them.
    fn grants(&self) -> Vec<Value> {
        let group = "examples.windlass.dev";
        let mut grants = vec![
            json!({ "apiGroups": [group], "resources": ["greetings"], "verbs": ["get", "list", "watch"], "namespaces": self.namespaces }),
            json!({ "apiGroups": [group], "resources": ["bags"], "verbs": ALL }),
            json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ALL }),
            json!({ "apiGroups": [""], "resources": ["services"], "resourceNames": ["allowed"], "verbs": ["get", "watch"] }),
        ];
        if self.reads_secrets {
            let secrets = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] });
            grants.push(secrets.acknowledged());
        }
        grants
    }
}
