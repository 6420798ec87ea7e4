//! What the API server was asked, as its audit log tells it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::Deserialize;

/// One event of the audit log. A request has one, or two if it is a watch.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// The same for all events of a request.
    #[serde(rename = "auditID")]
    pub audit_id: String,
    /// `ResponseStarted` (watches), `ResponseComplete` or `Panic`.
    pub stage: String,
    /// When the request came.
    #[serde(rename = "requestReceivedTimestamp")]
    pub received: MicroTime,
    /// When it came to [`AuditEvent::stage`].
    #[serde(rename = "stageTimestamp")]
    pub reached: MicroTime,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// The path and query.
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    /// Who asked.
    pub user: AuditUser,
    /// Who the request was made as, if not as [`AuditEvent::user`].
    pub impersonated_user: Option<AuditUser>,
    /// The client program.
    pub user_agent: Option<String>,
    /// What was asked about; absent for paths such as `/version`.
    pub object_ref: Option<AuditObject>,
    /// How it was answered.
    pub response_status: Option<AuditStatus>,
    /// The body of a write, except of secrets and tokens.
    pub request_object: Option<serde_json::Value>,
    /// Notes of the server, such as the RBAC rule that allowed the request.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

impl AuditEvent {
    /// The HTTP status of the answer.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        self.response_status.as_ref().and_then(|status| status.code)
    }
}

/// A user of the audit log.
#[derive(Clone, Debug, Deserialize)]
pub struct AuditUser {
    /// The name RBAC saw; empty if the request was refused before (401).
    #[serde(default)]
    pub username: String,
    /// The groups RBAC saw.
    #[serde(default)]
    pub groups: Vec<String>,
}

/// An object of the audit log. What does not apply is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditObject {
    /// The API group; empty for the core group.
    pub api_group: String,
    /// The version of the API group.
    pub api_version: String,
    /// The plural name of the kind.
    pub resource: String,
    /// `status`, `scale` and such.
    pub subresource: String,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
}

/// An answer of the audit log.
#[derive(Clone, Debug, Deserialize)]
pub struct AuditStatus {
    /// The HTTP status.
    pub code: Option<u16>,
}

/// Reads what is in the log by now. A line the server is still writing is left for the next time.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<AuditEvent>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the audit log {}", path.display()))?;
    let whole = text
        .rfind('\n')
        .and_then(|end| text.get(..end))
        .unwrap_or_default();
    // An object that is nested deeper than JSON's parser goes is of a test that makes one.
    let is_deep = |error: &serde_json::Error| error.to_string().starts_with("recursion limit");
    let read = |line| match serde_json::from_str(line) {
        Err(error) if is_deep(&error) => None,
        read => Some(read.context("cannot parse a line of the audit log")),
    };
    whole.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_still_being_written_is_left_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = r#"{"auditID":"1","stage":"ResponseComplete","verb":"get","requestURI":"/version",
            "user":{"username":"admin"},"responseStatus":{"metadata":{},"code":200},
            "requestReceivedTimestamp":"2026-11-22T01:36:12.000001Z",
            "stageTimestamp":"2026-11-22T01:36:12.000250Z"}"#;
        let line = line.replace('\n', "");
        std::fs::write(file.path(), format!("{line}\n{}", &line[..30])).unwrap();
        let events = read(file.path()).unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].code(), Some(200));
    }
}
