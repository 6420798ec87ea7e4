//! The text of a kubeconfig: one cluster, one user, one context.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The name of the cluster, of the user and of the context.
pub const NAME: &str = "windlass";

/// A kubeconfig for the server at `url`, whose certificate `authority` (PEM) has signed.
pub(super) fn render(url: &str, authority: &str, token: &str) -> String {
    let authority = STANDARD.encode(authority);
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: {NAME}
  cluster:
    server: {url}
    certificate-authority-data: {authority}
users:
- name: {NAME}
  user:
    token: {token}
contexts:
- name: {NAME}
  context:
    cluster: {NAME}
    user: {NAME}
current-context: {NAME}
"
    )
}
