//! Kubernetes' root CA publisher as a plugin: each namespace has the ConfigMap `kube-root-ca.crt`.

use serde::Deserialize;
use windlass_kit::namespace::{FIELDS, Namespace};
use windlass_sdk::{
    Action, Cluster, Code, Failure, Manifest, Needs, ObjectRef, Reconciler, Watch, export, need,
    read,
};

/// The ConfigMap that the projected volume of each pod reads.
const NAME: &str = "kube-root-ca.crt";

/// The key with the certificates.
const KEY: &str = "ca.crt";

/// What the ConfigMap says of itself.
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// The operator's configuration.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    /// Certificates in PEM.
    ca_bundle: String,
}

/// The controller.
#[derive(Default)]
pub struct RootCa;

impl Reconciler for RootCa {
    const WATCHES: (&'static str, &'static str) = ("v1", "Namespace");
    type Object = Namespace;

    fn watch() -> Watch {
        Watch::default().fields(FIELDS)
    }

    fn needs() -> Needs {
        read("v1", "ConfigMap").fields([".data['ca.crt']"])
            + need("v1", "ConfigMap", &["create", "patch"]).named([NAME])
    }

    fn reconcile(&self, namespace: &Namespace, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let settings: Settings = cluster.settings()?;
        if !is_pem(&settings.ca_bundle) {
            let message = "spec.config.caBundle has no certificate in PEM";
            return Err(Failure::terminal(message));
        }
        if namespace.is_terminating() {
            return Ok(Action::AwaitChange);
        }
        let target = ObjectRef::new("v1", "ConfigMap", &namespace.metadata.name, NAME);
        let map = Manifest::new(&target)
            .annotation("kubernetes.io/description", DESCRIPTION)
            .data(KEY, settings.ca_bundle);
        match cluster.apply(map) {
            Ok(_) => Ok(Action::AwaitChange),
            // The namespace is going away.
            Err(error) if error.code == Code::Gone => Ok(Action::AwaitChange),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the text has the form of a certificate. Pods that get another text trust nobody.
fn is_pem(text: &str) -> bool {
    let inner = text.split_once("-----BEGIN CERTIFICATE-----");
    inner.is_some_and(|(_, rest)| rest.contains("-----END CERTIFICATE-----"))
}

export!(RootCa);

#[cfg(test)]
mod tests {
    use windlass_sdk::testing::run_dir;

    use super::*;

    #[test]
    fn every_fixture_holds() {
        run_dir::<RootCa>("tests").unwrap();
    }

    #[test]
    fn certificates_are_recognized_by_their_form() {
        let cases = [
            ("", false),
            ("MIIB", false),
            ("-----BEGIN CERTIFICATE-----\nMIIB\n", false),
            (
                "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n",
                false,
            ),
            (
                "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
                true,
            ),
            (
                "# CA\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
                true,
            ),
        ];
        for (text, want) in cases {
            assert_eq!(is_pem(text), want, "{text:?}");
        }
    }
}
