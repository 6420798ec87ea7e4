//! The arguments each server is started with, and the files they name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rcgen::KeyPair;

use crate::certificates::{Authority, Validity};
use crate::kubeconfig::{self, Credentials};

/// Bodies of writes are kept, except those of secrets and tokens; of the rest, who asked for what.
/// Looks at the server's health are left out.
const AUDIT_POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    nonResourceURLs: [/healthz*, /livez*, /readyz*]
  - level: Metadata
    resources:
      - group: ""
        resources: [secrets, serviceaccounts/token]
  - level: Request
    verbs: [create, update, patch, delete, deletecollection]
  - level: Metadata
"#;

/// The folder of one control plane, its ports, and the files in it.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) folder: PathBuf,
    pub(crate) etcd_port: u16,
    pub(crate) port: u16,
}

impl Site {
    /// The address of the API server.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Where the API server writes what it was asked.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.file("audit.jsonl")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn etcd_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.etcd_port)
    }

    /// Writes the files the servers read at their start.
    pub(crate) fn write_files(&self, authority: &Authority) -> anyhow::Result<()> {
        let server = authority.server()?;
        let manager = authority.client(
            "system:kube-controller-manager",
            &["system:masters"],
            Validity::Long,
        )?;
        let manager = Credentials::Certificate(Box::new(manager));
        let signer = KeyPair::generate()?;
        let files = [
            ("ca.crt", authority.pem()),
            ("apiserver.crt", server.certificate_pem().to_owned()),
            ("apiserver.key", server.key_pem()),
            ("service-accounts.pub", signer.public_key_pem()),
            ("service-accounts.key", signer.serialize_pem()),
            ("audit-policy.yaml", AUDIT_POLICY.to_owned()),
            (
                "manager.kubeconfig",
                kubeconfig::render(&self.url(), authority, &manager)?,
            ),
        ];
        for (name, content) in files {
            write(&self.file(name), &content)?;
        }
        Ok(())
    }

    /// Nothing here has to survive the machine, so disk writes are not waited for; and the only
    /// member need not wait a second to elect itself.
    pub(crate) fn etcd(&self) -> Vec<OsString> {
        vec![
            flag("data-dir", self.file("etcd")),
            flag("listen-client-urls", self.etcd_url()),
            flag("advertise-client-urls", self.etcd_url()),
            flag("listen-peer-urls", "http://127.0.0.1:0"),
            flag("unsafe-no-fsync", "true"),
            flag("heartbeat-interval", "20"),
            flag("election-timeout", "100"),
        ]
    }

    /// Authentication, authorization, admission and flow control are as in a cluster.
    pub(crate) fn kube_apiserver(&self) -> Vec<OsString> {
        vec![
            flag("etcd-servers", self.etcd_url()),
            flag("bind-address", "127.0.0.1"),
            flag("secure-port", self.port.to_string()),
            // Published to pods, of which none runs. Loopback is refused, and the default needs a
            // default route; this is a documentation address.
            flag("advertise-address", "192.0.2.1"),
            flag("tls-cert-file", self.file("apiserver.crt")),
            flag("tls-private-key-file", self.file("apiserver.key")),
            flag("client-ca-file", self.file("ca.crt")),
            flag("authorization-mode", "RBAC"),
            flag("allow-privileged", "true"),
            flag("service-cluster-ip-range", "10.0.0.0/16"),
            flag("service-account-issuer", "https://kubernetes.default.svc"),
            flag(
                "service-account-key-file",
                self.file("service-accounts.pub"),
            ),
            flag(
                "service-account-signing-key-file",
                self.file("service-accounts.key"),
            ),
            flag("audit-policy-file", self.file("audit-policy.yaml")),
            flag("audit-log-path", self.audit_log()),
            // In MiB: a long test judges the whole log, and by default it begins again at 100.
            flag("audit-log-maxsize", "4096"),
        ]
    }

    /// None of the client's own rate limit; `controllers` may be `*`, all default ones.
    pub(crate) fn kube_controller_manager(&self, controllers: &str) -> Vec<OsString> {
        let kubeconfig = self.file("manager.kubeconfig");
        vec![
            flag("kubeconfig", &kubeconfig),
            flag("authentication-kubeconfig", &kubeconfig),
            flag("authorization-kubeconfig", &kubeconfig),
            flag("secure-port", "0"),
            flag("leader-elect", "false"),
            flag("kube-api-qps", "2000"),
            flag("kube-api-burst", "4000"),
            flag("concurrent-gc-syncs", "40"),
            flag("controllers", controllers),
            flag(
                "service-account-private-key-file",
                self.file("service-accounts.key"),
            ),
            flag("root-ca-file", self.file("ca.crt")),
        ]
    }
}

/// Writes a file only its owner may read.
pub(crate) fn write(path: &Path, content: &str) -> anyhow::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options
        .open(path)
        .and_then(|mut file| file.write_all(content.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn flag(name: &str, value: impl AsRef<std::ffi::OsStr>) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(value);
    flag
}
