//! What the status of a plugin tells of its source. The host may read more than who installs the plugin.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use windlass_registry::Reference;

use super::core;
use crate::hosting::Host;
use crate::hosting::refusal::FetchProblem;
use windlass_policy::manifest::{OciSource, PluginDocument};
use windlass_policy::rights::{Right, Verdict};

/// Why the source of each plugin could not be had, where only the log tells it. The same words are told once.
#[derive(Debug, Default)]
pub struct Causes(Mutex<BTreeMap<String, String>>);

impl Causes {
    /// Logs why the source of `plugin` cannot be had, unless that was the last thing that was logged of it.
    fn tell(&self, plugin: &str, why: &str) {
        if self.is_news(plugin, why) {
            tracing::warn!(plugin, "{why}");
        }
    }

    fn is_news(&self, plugin: &str, why: &str) -> bool {
        let before = self.0.lock().insert(plugin.to_owned(), why.to_owned());
        before.as_deref() != Some(why)
    }

    /// The source of `plugin` was had, or nobody wants it any more: the same problem is news again.
    pub(in crate::hosting) fn forget(&self, plugin: &str) {
        self.0.lock().remove(plugin);
    }
}

impl Host {
    /// `problem` with an object of the API server, as the service account of the plugin may know it: the host may read more.
    pub(super) async fn as_account_knows(
        &self,
        document: &PluginDocument,
        (kind, namespace, name): (&str, &str, &str),
        problem: FetchProblem,
    ) -> FetchProblem {
        let Some(account) = &document.service_account else {
            return problem;
        };
        let resource = core(kind);
        let right = Right::to("get", &resource, Some(namespace)).of_one(Some(name));
        if self.rights.has(account, &right).await == Verdict::Allowed {
            return problem;
        }
        self.causes.tell(&document.name, &problem.text);
        let plural = &resource.plural;
        problem.hidden(format!(
            "{namespace}/{name} is not what it must be; service account {account} may not know why: give it a Role in {namespace} with get for {plural}, and resourceNames: [{name}], or read the log of the host"
        ))
    }
}

/// `problem` with a registry, without what happened in the network of the host: anyone who installs a Plugin object could find
/// its open ports. A registry that the settings of the host name is known.
pub(super) fn without_cause(
    document: &PluginDocument,
    oci: &OciSource,
    is_known: impl Fn(&str) -> bool,
    problem: FetchProblem,
    causes: &Causes,
) -> FetchProblem {
    let Reference::Registry(image) = &oci.reference else {
        return problem;
    };
    let host = image.registry();
    if document.origin.file().is_some() || is_known(host) || !problem.is_unavailable() {
        return problem;
    }
    causes.tell(&document.name, &problem.text);
    let reference = &oci.reference;
    problem.hidden(format!(
        "{reference} is unavailable: {host} does not answer as a registry; the log of the host says why. To see the cause here, name {host} in the file of --registries"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_registry::Error;

    use super::*;
    use windlass_policy::manifest::{ComponentSource, of_object};

    fn object() -> PluginDocument {
        let object = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin", "metadata": { "name": "probe" },
            "spec": { "source": { "oci": "10.0.0.7:6379/x:v1" }, "grants": [] },
        });
        of_object(&object).unwrap().0
    }

    #[test]
    fn a_plugin_object_does_not_tell_what_answers_in_the_network_of_the_host() {
        let document = object();
        let ComponentSource::Oci(oci) = &document.source else {
            panic!("it is {}", document.source);
        };
        let told = |reason: &str, is_known: bool| {
            let error = Error::Unavailable {
                reference: "10.0.0.7:6379/x:v1".into(),
                reason: reason.into(),
                retry_after: None,
            };
            without_cause(
                &document,
                oci,
                |_| is_known,
                error.into(),
                &Causes::default(),
            )
            .text
        };
        let reasons = [
            "connection refused",
            "no TLS",
            "UnknownIssuer",
            "it answers 500",
        ];
        for reason in reasons {
            assert_eq!(told(reason, false), told("", false));
            assert!(told(reason, true).contains(reason));
        }
        assert!(told("", false).contains("10.0.0.7:6379"));
    }

    #[test]
    fn a_cause_is_logged_once_until_it_changes_or_passes() {
        let causes = Causes::default();
        let rows = [
            ("a", "refused", true),
            ("a", "refused", false),
            ("b", "refused", true),
            ("a", "no TLS", true),
            ("a", "refused", true),
            ("a", "refused", false),
        ];
        for (plugin, why, want) in rows {
            assert_eq!(causes.is_news(plugin, why), want, "{plugin}: {why}");
        }
        causes.forget("a");
        assert!(causes.is_news("a", "refused"));
        assert!(!causes.is_news("b", "refused"));
    }
}
