//! What a Lease object says, and how one is written.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::api::object;
use crate::crashes::ANNOTATION;

/// The label that says what a Lease of a host is for: [`PLUGIN`] or [`SESSION`].
pub(super) const LABEL: &str = "windlass.dev/lease";
/// Says which host runs a plugin.
pub(super) const PLUGIN: &str = "plugin";
/// Says whether a host is alive.
pub(super) const SESSION: &str = "session";

/// The annotation of a plugin's Lease that names the session of its holder: `SESSION@RENEWTIME`. It counts only while the
/// Lease has that `renewTime`: hosts from before sessions keep the annotation when they write the rest.
const BY: &str = "windlass.dev/session";

/// The annotation of a plugin's Lease that asks its holder to hand it over: the session of who asks.
pub(super) const HANDOVER: &str = "windlass.dev/handover";

/// What the Lease object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaderElectionRecord {
    pub(super) name: String,
    pub(super) holder: String,
    pub(super) acquired: String,
    pub(super) renewed: String,
    pub(super) duration: Duration,
    pub(super) transitions: i64,
    pub(super) uid: String,
    pub(super) version: String,
    /// What it says beside that, which stays.
    pub(super) labels: Option<Value>,
    pub(super) annotations: Option<Value>,
}

impl LeaderElectionRecord {
    pub(super) fn of(lease: &Value) -> Self {
        let text = |path: &str| {
            lease
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let number = |path: &str| lease.pointer(path).and_then(Value::as_i64).unwrap_or(0);
        let seconds = number("/spec/leaseDurationSeconds");
        Self {
            name: text("/metadata/name"),
            holder: text("/spec/holderIdentity"),
            acquired: text("/spec/acquireTime"),
            renewed: text("/spec/renewTime"),
            duration: Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
            transitions: number("/spec/leaseTransitions"),
            uid: text("/metadata/uid"),
            version: text("/metadata/resourceVersion"),
            labels: lease.pointer("/metadata/labels").cloned(),
            annotations: lease.pointer("/metadata/annotations").cloned(),
        }
    }

    /// Whether nobody has renewed it or taken it over since it was as `before`.
    pub(super) fn is_as(&self, before: &Self) -> bool {
        self.holder == before.holder && !self.has_moved(before)
    }

    /// Whether somebody has renewed it since it was as `before`. That its holder was taken off shows no life.
    pub(super) fn has_moved(&self, before: &Self) -> bool {
        let signs = |record: &Self| {
            let (acquired, renewed) = (record.acquired.clone(), record.renewed.clone());
            let (uid, transitions) = (record.uid.clone(), record.transitions);
            (uid, acquired, renewed, record.duration, transitions)
        };
        signs(self) != signs(before)
    }

    /// What hosts have published of crashes.
    pub(super) fn crashes(&self) -> &str {
        self.annotation(ANNOTATION).unwrap_or_default()
    }

    /// The session by which its holder holds it; none if that is a host from before sessions.
    pub(super) fn session(&self) -> Option<&str> {
        let (session, renewed) = self.annotation(BY)?.rsplit_once('@')?;
        (renewed == self.renewed && !self.holder.is_empty()).then_some(session)
    }

    /// The session of the host that asks for it, if one does.
    pub(super) fn wanted_by(&self) -> Option<&str> {
        self.annotation(HANDOVER)
    }

    /// Whether the label says that it is for `purpose`.
    pub(super) fn is_for(&self, purpose: &str) -> bool {
        let label = self.labels.as_ref().and_then(|all| all.get(LABEL));
        label.and_then(Value::as_str) == Some(purpose)
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(name)?.as_str()
    }
}

/// What is to be written into a Lease.
pub(super) struct LeaseWrite<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    /// What it is for.
    pub(super) purpose: &'a str,
    /// Empty if nobody is to hold it.
    pub(super) holder: &'a str,
    /// The session by which the holder holds it.
    pub(super) session: Option<&'a str>,
    /// How long it lasts after `now`.
    pub(super) duration: Duration,
    /// The new `renewTime`.
    pub(super) now: &'a str,
    /// Whether a host that asks for the Lease, and may be alive, is still to have it.
    pub(super) keeps_request: bool,
    /// What it says before the write, which fails if that is not so any more.
    pub(super) before: Option<&'a LeaderElectionRecord>,
}

impl LeaseWrite<'_> {
    /// The Lease object.
    pub(super) fn object(&self) -> Value {
        let (before, now) = (self.before, self.now);
        let labels = before.and_then(|it| it.labels.as_ref());
        let request = before.and_then(LeaderElectionRecord::wanted_by);
        let request = request.filter(|_| self.keeps_request).map(str::to_owned);
        let annotations = before.and_then(|it| it.annotations.as_ref());
        let annotations = with(annotations, HANDOVER, request);
        let by = self.session.map(|session| format!("{session}@{now}"));
        let metadata = object([
            ("name", Some(self.name.into())),
            ("namespace", Some(self.namespace.into())),
            // A PUT creates a Lease that is not there, unless it names the UID.
            ("uid", before.map(|it| Value::from(&*it.uid))),
            (
                "resourceVersion",
                before.map(|it| Value::from(&*it.version)),
            ),
            ("labels", with(labels, LABEL, Some(self.purpose.to_owned()))),
            ("annotations", with(annotations.as_ref(), BY, by)),
        ]);
        let passes_on = before.is_none_or(|it| it.holder != self.holder);
        let acquired = before.filter(|_| !passes_on).map(|it| &*it.acquired);
        let transitions = before.map_or(0, |it| {
            it.transitions + i64::from(passes_on && !self.holder.is_empty())
        });
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": self.duration.as_secs().max(1),
                "acquireTime": acquired.unwrap_or(now),
                "renewTime": now,
                "leaseTransitions": transitions,
            },
        })
    }
}

/// The object that takes the holder off `session`, so that it can never be renewed again. Who watches it sees no move.
pub(super) fn ended(namespace: &str, session: &LeaderElectionRecord) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": object([
            ("name", Some(Value::from(&*session.name))),
            ("namespace", Some(namespace.into())),
            ("uid", Some(Value::from(&*session.uid))),
            ("resourceVersion", Some(Value::from(&*session.version))),
            ("labels", session.labels.clone()),
            ("annotations", session.annotations.clone()),
        ]),
        "spec": {
            "holderIdentity": "",
            "leaseDurationSeconds": session.duration.as_secs().max(1),
            "acquireTime": session.acquired,
            "renewTime": session.renewed,
            "leaseTransitions": session.transitions,
        },
    })
}

/// `map` with one more entry, or without it; nothing if it is empty then.
fn with(map: Option<&Value>, key: &str, value: Option<String>) -> Option<Value> {
    let mut map = map
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_else(Map::new);
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value.into())),
        None => drop(map.remove(key)),
    }
    (!map.is_empty()).then(|| map.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-21T09:30:00.000000Z";

    fn write<'a>(holder: &'a str, before: Option<&'a LeaderElectionRecord>) -> LeaseWrite<'a> {
        LeaseWrite {
            namespace: "default",
            name: "windlass-greeter",
            purpose: PLUGIN,
            holder,
            session: (!holder.is_empty()).then_some("windlass-session-a"),
            duration: Duration::from_secs(3600),
            now: NOW,
            keeps_request: false,
            before,
        }
    }

    #[test]
    fn a_session_counts_only_while_nobody_has_written_the_rest() {
        let record = |change: &dyn Fn(&mut Value)| {
            let mut lease = write("a", None).object();
            change(&mut lease);
            LeaderElectionRecord::of(&lease)
        };
        let spec = |field: &'static str, value: &'static str| {
            move |lease: &mut Value| lease["spec"][field] = value.into()
        };
        assert_eq!(record(&|_| {}).session(), Some("windlass-session-a"));
        // A host from before sessions takes it over, or renews it, and keeps annotations.
        let later = spec("renewTime", "2026-11-21T10:30:00.000000Z");
        assert_eq!(record(&later).session(), None);
        assert_eq!(record(&spec("holderIdentity", "")).session(), None);
        let broken = |lease: &mut Value| lease["metadata"]["annotations"][BY] = "x".into();
        assert_eq!(record(&broken).session(), None);
    }

    #[test]
    fn what_others_put_on_a_lease_stays_and_a_release_takes_the_session_off() {
        let mut lease = write("a", None).object();
        lease["metadata"]["annotations"]["team"] = "apps".into();
        lease["metadata"]["labels"]["app"] = "x".into();
        let held = LeaderElectionRecord::of(&lease);
        assert!(held.is_for(PLUGIN) && !held.is_for(SESSION));
        let free = write("", Some(&held)).object();
        assert_eq!(free["metadata"]["annotations"], json!({ "team": "apps" }));
        let labels = json!({ "app": "x", LABEL: PLUGIN });
        assert_eq!(free["metadata"]["labels"], labels);
        assert_eq!(free["spec"]["leaseTransitions"], 0);
        let free = LeaderElectionRecord::of(&free);
        assert_eq!(
            write("b", Some(&free)).object()["spec"]["leaseTransitions"],
            1
        );
    }

    #[test]
    fn a_session_that_is_ended_does_not_move() {
        let mut lease = write("a", None).object();
        lease["metadata"]["uid"] = "u".into();
        let held = LeaderElectionRecord::of(&lease);
        let ended = LeaderElectionRecord::of(&ended("default", &held));
        assert_eq!(ended.holder, "");
        assert!(!ended.has_moved(&held) && !ended.is_as(&held));
    }
}
