//! The credentials of a registry that a document names: a pull Secret in the namespace of the host.
//!
//! - The host reads it. A plugin with a service account uses it only if the account may read it too: who may install plugins
//!   as an account gets no image that the account may not have.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use windlass_registry::{Client, DockerConfig, Settings};

use super::{core, not_fetched};
use crate::hosting::Host;
use crate::hosting::refusal::{FetchProblem, Refusal, RefusalReason};
use windlass_kube::api::{ApiError, ServiceAccount};
use windlass_policy::manifest::{OciSource, PluginDocument};
use windlass_policy::rights::{Right, Verdict};
use windlass_policy::source::blame;

/// The key of a Secret with the credentials of registries.
const DOCKER_CONFIG: &str = ".dockerconfigjson";

impl Host {
    /// A client with the credentials that `document` names.
    pub(super) async fn registry(
        &self,
        document: &PluginDocument,
        oci: &OciSource,
    ) -> Result<Client, Refusal> {
        let Some(settings) = &self.registries else {
            let why = blame(document, "this host fetches nothing from registries");
            return Err(RefusalReason::Unreadable(why).into());
        };
        let Some(secret) = &oci.pull_secret else {
            return Ok(Client::new(settings.clone()));
        };
        let place = ("Secret", &*self.namespace, &**secret);
        if let Some(problem) = self.withheld(document, place).await {
            return Err(not_fetched(document, problem));
        }
        let credentials = match self.pull_secret(secret).await {
            Ok(credentials) => credentials,
            Err(why) => {
                let why = format!("the pull Secret {}/{secret} {why}", self.namespace);
                let problem = FetchProblem::credentials(why);
                return Err(not_fetched(document, problem));
            }
        };
        Ok(Client::new(Settings {
            credentials,
            ..settings.clone()
        }))
    }

    /// Why the plugin may not use the Secret, if it may not: what it pulls by it is a right of its service account, and none
    /// of the host.
    async fn withheld(
        &self,
        document: &PluginDocument,
        (kind, namespace, name): (&str, &str, &str),
    ) -> Option<FetchProblem> {
        let account = document.service_account.as_ref()?;
        let resource = core(kind);
        let right = Right::to("get", &resource, Some(namespace)).of_one(Some(name));
        let verdict = self.rights.has(account, &right).await;
        withheld(account, (namespace, name), verdict)
    }

    async fn pull_secret(&self, name: &str) -> Result<DockerConfig, String> {
        let uri = format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace);
        let secret: Result<Option<Value>, ApiError> = self.api.read(uri).await;
        let secret = secret.map_err(|error| format!("cannot be read: {error}"))?;
        let secret = secret.ok_or("is absent: create it")?;
        let held = secret.get("data").and_then(|data| data.get(DOCKER_CONFIG));
        let held = held.and_then(Value::as_str);
        let missing = "has no key .dockerconfigjson: its type is kubernetes.io/dockerconfigjson";
        let config = STANDARD.decode(held.ok_or(missing)?);
        let config = config.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let config = config.ok_or("holds something that is not text")?;
        DockerConfig::read(&config).map_err(|why| format!("cannot be used: {why}"))
    }
}

/// Why `account` may not use the pull Secret of this namespace and name, if this `verdict` says so.
fn withheld(
    account: &ServiceAccount,
    (namespace, name): (&str, &str),
    verdict: Verdict,
) -> Option<FetchProblem> {
    let secret = format!("the pull Secret {namespace}/{name}");
    match verdict {
        Verdict::Allowed => None,
        Verdict::Denied => Some(FetchProblem::withheld(format!(
            "service account {account} may not use {secret}: give it a Role in {namespace} with get for secrets, and resourceNames: [{name}]"
        ))),
        Verdict::Unknown(why) => Some(FetchProblem::unanswered(format!(
            "it is not known whether service account {account} may use {secret}: {why}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_secret_of_the_host_is_used_only_by_accounts_that_may_read_it() {
        let account = ServiceAccount::new("shop", "runner").unwrap();
        let said = |verdict| withheld(&account, ("windlass-system", "pull"), verdict);
        assert!(said(Verdict::Allowed).is_none());
        let denied = said(Verdict::Denied).unwrap();
        assert!(!denied.is_unavailable());
        for part in [
            "windlass-system/pull",
            "a Role in windlass-system with get for secrets",
            "resourceNames: [pull]",
        ] {
            assert!(denied.text.contains(part), "{}", denied.text);
        }
        // The API server gave no verdict: the host does not use the Secret, and asks again.
        let unknown = said(Verdict::Unknown("no answer".into())).unwrap();
        assert!(unknown.is_unavailable() && unknown.text.contains("no answer"));
    }
}
