//! Users with narrow rights: ServiceAccounts with real tokens.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use windlass_controlplane::client;
use windlass_e2e::{DEADLINE, control_plane, eventually};

const RBAC: &str = "rbac.authorization.k8s.io";
const WRITES: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

/// The ServiceAccount that plugins of the test run as.
pub(crate) const DEPLOYER: &str = "deployer";

/// All of them may read Plugins. See `rules` for the rest.
const USERS: [&str; 6] = ["reader", "writer", "keeper", "broad", "chief", "mayor"];

/// The users of one test.
pub(crate) struct Users {
    namespace: String,
    kubeconfigs: BTreeMap<&'static str, PathBuf>,
}

impl Users {
    /// Makes them, and waits until the API server knows their rights. `mayor` may `escalate` one Plugin only.
    pub(crate) async fn new(namespace: &str, of_mayor: &str) -> Result<Self> {
        let mut objects = vec![account(namespace, DEPLOYER), account(namespace, "other")];
        for user in USERS {
            objects.push(account(namespace, user));
            let name = format!("{namespace}-{user}");
            objects.extend(role(None, &name, namespace, user, &rules(user, of_mayor)));
        }
        let deployer = json!({ "apiGroups": [""], "resources": ["serviceaccounts"],
            "resourceNames": [DEPLOYER], "verbs": ["impersonate"] });
        let keeps = role(
            Some(namespace),
            "keeper",
            namespace,
            "keeper",
            &json!([deployer]),
        );
        objects.extend(keeps);
        control_plane()?.apply(&objects).await?;
        let mut users = Self {
            namespace: namespace.to_owned(),
            kubeconfigs: BTreeMap::new(),
        };
        for user in USERS {
            users.until_allowed(user, of_mayor).await?;
            let file = control_plane()?.kubeconfig_service_account(namespace, user);
            users.kubeconfigs.insert(user, file.await?);
        }
        Ok(users)
    }

    /// What the API server calls a user.
    pub(crate) fn name(&self, user: &str) -> String {
        format!("system:serviceaccount:{}:{user}", self.namespace)
    }

    /// A client of a user.
    pub(crate) async fn client(&self, user: &str) -> Result<kube::Client> {
        client(self.kubeconfig(user)?).await
    }

    /// The kubeconfig of a user.
    pub(crate) fn kubeconfig(&self, user: &str) -> Result<&PathBuf> {
        let held = self.kubeconfigs.get(user);
        held.with_context(|| format!("there is no user {user}"))
    }

    /// Waits until a user has the right that makes it special.
    async fn until_allowed(&self, user: &str, of_mayor: &str) -> Result<()> {
        let plugins = |verb: &str, name: &str| json!({ "group": "windlass.dev", "resource": "plugins", "verb": verb, "name": name });
        let account = json!({ "resource": "serviceaccounts", "verb": "impersonate",
            "namespace": self.namespace, "name": DEPLOYER });
        let mut rights = match user {
            "reader" => vec![plugins("list", "")],
            "keeper" | "broad" => vec![account],
            "chief" => vec![plugins("escalate", "")],
            "mayor" => vec![plugins("escalate", of_mayor)],
            _ => Vec::new(),
        };
        if user != "reader" {
            rights.push(plugins("create", ""));
        }
        let reviews: Api<SubjectAccessReview> = Api::all(control_plane()?.client().await?);
        for right in rights {
            let asked = json!({ "metadata": {}, "spec": { "user": self.name(user), "resourceAttributes": right } });
            let asked = serde_json::from_value(asked)?;
            eventually(DEADLINE, &format!("{user} has {right}"), async || {
                let answer = reviews.create(&PostParams::default(), &asked).await?;
                match answer.status {
                    Some(status) if status.allowed => Ok(Some(())),
                    status => bail!("the answer is {status:?}"),
                }
            })
            .await?;
        }
        Ok(())
    }
}

/// What a user may do in the whole cluster.
fn rules(user: &str, of_mayor: &str) -> Value {
    let plugins = |verbs: &[&str]| json!({ "apiGroups": ["windlass.dev"], "resources": ["plugins"], "verbs": verbs });
    if user == "reader" {
        return json!([plugins(&["get", "list", "watch"])]);
    }
    // Only the status is there.
    let below = [
        "plugins/status",
        "plugins/scale",
        "plugins/finalizers",
        "plugins/spec",
    ];
    let below = json!({ "apiGroups": ["windlass.dev"], "resources": below, "verbs": WRITES });
    let mut rules = vec![plugins(&WRITES), below];
    rules.extend(match user {
        "broad" => Some(
            json!({ "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"] }),
        ),
        "chief" => Some(plugins(&["escalate"])),
        "mayor" => Some(
            json!({ "apiGroups": ["windlass.dev"], "resources": ["plugins"],
                "resourceNames": [of_mayor], "verbs": ["escalate"] }),
        ),
        _ => None,
    });
    json!(rules)
}

fn account(namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace } })
}

/// A role and its binding, of a namespace or of the cluster.
fn role(place: Option<&str>, name: &str, namespace: &str, user: &str, rules: &Value) -> [Value; 2] {
    let kind = if place.is_some() {
        "Role"
    } else {
        "ClusterRole"
    };
    let mut metadata = json!({ "name": name });
    if let (Some(place), Some(fields)) = (place, metadata.as_object_mut()) {
        fields.insert("namespace".to_owned(), json!(place));
    }
    let version = format!("{RBAC}/v1");
    [
        json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules }),
        json!({
            "apiVersion": version, "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": { "apiGroup": RBAC, "kind": kind, "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": user, "namespace": namespace }],
        }),
    ]
}
