//! The requests of one user, as the audit log of the API server has them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};

use anyhow::{Context, Result};
use windlass_controlplane::{AuditEvent, ControlPlane};

/// How many requests there were of each sort.
#[derive(Debug, Default)]
pub(super) struct Requests(BTreeMap<(String, u16), usize>);

/// The requests of `user` so far. Watches are not among them.
///
/// # Errors
/// The log cannot be read.
pub(super) fn requests(plane: &ControlPlane, user: &str) -> Result<Requests> {
    let path = plane.folder().join("audit.jsonl");
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut requests = Requests::default();
    for line in BufReader::new(file).lines() {
        requests.add(&line?, user);
    }
    Ok(requests)
}

impl Requests {
    /// Counts a line if it is a request of `user`. The server may still be writing the last one.
    fn add(&mut self, line: &str, user: &str) {
        // Most lines are of others, and large.
        if !line.contains(user) {
            return;
        }
        let Ok(event) = serde_json::from_str::<AuditEvent>(line) else {
            return;
        };
        if event.user.username != user || event.verb == "watch" {
            return;
        }
        let mut sort = event.verb.clone();
        if let Some(object) = &event.object_ref {
            let _ = write!(sort, " {}", object.resource);
            if !object.subresource.is_empty() {
                let _ = write!(sort, "/{}", object.subresource);
            }
        }
        *self
            .0
            .entry((sort, event.code().unwrap_or_default()))
            .or_default() += 1;
    }

    /// All of them.
    pub(super) fn all(&self) -> usize {
        self.0.values().sum()
    }

    /// Those with this answer.
    pub(super) fn answered(&self, code: u16) -> usize {
        let with = self.0.iter().filter(|((_, answer), _)| *answer == code);
        with.map(|(_, count)| count).sum()
    }

    /// A line for each sort, the most frequent first.
    pub(super) fn told(&self) -> String {
        let mut sorts: Vec<_> = self.0.iter().collect();
        sorts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let lines = sorts
            .iter()
            .map(|((sort, code), count)| format!("  {count:>7} {sort}: {code}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_the_user_count_by_sort_and_answer() {
        let line = |user: &str, verb: &str, code: u16| {
            format!(
                r#"{{"auditID":"1","stage":"ResponseComplete","verb":"{verb}","requestURI":"/","user":{{"username":"{user}"}},"objectRef":{{"resource":"pods","subresource":"status"}},"responseStatus":{{"metadata":{{}},"code":{code}}},"requestReceivedTimestamp":"2026-11-22T01:36:12.000001Z","stageTimestamp":"2026-11-22T01:36:12.000250Z"}}"#
            )
        };
        let mut requests = Requests::default();
        for (user, verb, code) in [
            ("measured", "patch", 200),
            ("measured", "patch", 409),
            ("measured", "patch", 200),
            ("measured", "watch", 200),
            ("somebody", "patch", 200),
        ] {
            requests.add(&line(user, verb, code), "measured");
        }
        requests.add(r#"{"auditID":"1","user":{"username":"measured"#, "measured");
        assert_eq!((requests.all(), requests.answered(409)), (3, 1));
        let told = "        2 patch pods/status: 200\n        1 patch pods/status: 409";
        assert_eq!(requests.told(), told);
    }
}
