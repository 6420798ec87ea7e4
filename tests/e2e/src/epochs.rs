//! Whether only the holder of a Lease writes, as the API server's audit log tells it.
//!
//! - A life of a host is told by a group of its user, so that each life has its own.
//! - A host has the Lease from the request that took it until the answer to the request by which the next one took
//!   it, or by which it was given up: what came in between may have been carried out before.

use serde_json::Value;
use windlass_controlplane::AuditEvent;

/// What the log says of a Lease and of those who want it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Epochs {
    /// Who got the Lease, one after the other.
    pub holders: Vec<String>,
    /// How many writes there were, of anything but Leases and Events.
    pub writes: usize,
    /// The writes of somebody who did not have the Lease.
    pub strays: Vec<String>,
}

/// For a while a host has the Lease, or nobody.
struct Epoch<'a> {
    holder: &'a str,
    /// The request that took it, or gave it up.
    taken: &'a AuditEvent,
}

/// The group that tells the life `identity` of a host, in its user's groups.
pub fn group(identity: &str) -> String {
    format!("windlass:{identity}")
}

impl Epochs {
    /// Judges the Lease `name` in `namespace`, and the writes of all users who are in a [`group`].
    pub fn of(audit: &[AuditEvent], namespace: &str, name: &str) -> Self {
        let epochs = epochs(audit, namespace, name);
        let writes = audit
            .iter()
            .filter(|event| is_plugins_write(event))
            .filter_map(|event| Some((event, host_of(event)?)));
        let mut judged = Self {
            holders: epochs
                .iter()
                .map(|epoch| epoch.holder.to_owned())
                .filter(|holder| !holder.is_empty())
                .collect(),
            ..Self::default()
        };
        for (event, host) in writes {
            judged.writes += 1;
            if let Some(why) = stray(&epochs, event, host) {
                let what = format!("{} {}", event.verb, event.request_uri);
                judged
                    .strays
                    .push(format!("{host}: {what} at {}: {why}", event.received.0));
            }
        }
        judged
    }
}

/// Why `event` should not have been, if so.
fn stray(epochs: &[Epoch<'_>], event: &AuditEvent, host: &str) -> Option<String> {
    let began = |it: &Epoch<'_>| it.holder == host && it.taken.received <= event.received;
    let mut own = epochs.iter().enumerate().filter(|(_, it)| began(it));
    let Some((place, _)) = own.next_back() else {
        return Some("it did not have the Lease".to_owned());
    };
    let next = epochs.get(place + 1)?;
    let late = event.received > next.taken.reached;
    let since = next.taken.reached.0;
    late.then(|| match next.holder {
        "" => format!("it had given it up at {since}"),
        other => format!("{other} had it since {since}"),
    })
}

/// Who got the Lease when. Each write of a Lease names the version before it, so that they came in order.
fn epochs<'a>(audit: &'a [AuditEvent], namespace: &str, name: &str) -> Vec<Epoch<'a>> {
    let of_lease = |event: &&AuditEvent| {
        let object = event.object_ref.as_ref();
        let named = |it: &windlass_controlplane::AuditObject| {
            it.resource == "leases" && it.namespace == namespace && it.name == name
        };
        matches!(event.verb.as_str(), "create" | "update")
            && matches!(event.code(), Some(200..=299))
            && object.is_some_and(named)
    };
    let mut writes: Vec<&AuditEvent> = audit.iter().filter(of_lease).collect();
    writes.sort_by(|one, other| one.received.cmp(&other.received));
    let (mut epochs, mut current) = (Vec::new(), "");
    for event in writes {
        let body = event.request_object.as_ref();
        let holder = body.and_then(|body| body.pointer("/spec/holderIdentity"));
        let holder = holder.and_then(Value::as_str).unwrap_or_default();
        if holder != current {
            let taken = event;
            epochs.push(Epoch { holder, taken });
        }
        current = holder;
    }
    epochs
}

fn is_plugins_write(event: &AuditEvent) -> bool {
    let resource = event.object_ref.as_ref().map(|object| &*object.resource);
    !matches!(event.verb.as_str(), "get" | "list" | "watch")
        && !matches!(resource, None | Some("leases" | "events"))
}

fn host_of(event: &AuditEvent) -> Option<&str> {
    let mut groups = event.user.groups.iter();
    groups.find_map(|group| group.strip_prefix("windlass:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use windlass_controlplane::{AuditObject, AuditStatus, AuditUser};

    /// A write that came at second `at` and was answered half a second later.
    fn write(host: &str, at: u32, resource: &str, body: Value) -> AuditEvent {
        let time = |micros: u32| {
            let text = format!("\"2026-11-22T01:30:{at:02}.{micros:06}Z\"");
            serde_json::from_str(&text).unwrap()
        };
        AuditEvent {
            audit_id: String::new(),
            stage: "ResponseComplete".to_owned(),
            received: time(0),
            reached: time(500_000),
            verb: "update".to_owned(),
            request_uri: format!("/{resource}"),
            user: AuditUser {
                username: "windlass".to_owned(),
                groups: vec!["system:authenticated".to_owned(), group(host)],
            },
            impersonated_user: None,
            user_agent: None,
            object_ref: Some(AuditObject {
                resource: resource.to_owned(),
                namespace: "home".to_owned(),
                name: "windlass-greeter".to_owned(),
                ..AuditObject::default()
            }),
            response_status: Some(AuditStatus { code: Some(200) }),
            request_object: Some(body),
            annotations: Default::default(),
        }
    }

    fn lease(host: &str, at: u32, holder: &str) -> AuditEvent {
        let body = json!({ "spec": { "holderIdentity": holder } });
        write(host, at, "leases", body)
    }

    fn map(host: &str, at: u32) -> AuditEvent {
        write(host, at, "configmaps", Value::Null)
    }

    /// `b` takes over from `a` at second 20, after it was refused at second 15.
    fn handed_over(more: impl IntoIterator<Item = AuditEvent>) -> Epochs {
        let mut refused = lease("b", 15, "b");
        refused.response_status = Some(AuditStatus { code: Some(409) });
        // Out of order, as a log is that has answers in the order of their ends.
        let log = [lease("b", 20, "b"), lease("a", 10, "a"), refused];
        let log: Vec<_> = log.into_iter().chain(more).collect();
        Epochs::of(&log, "home", "windlass-greeter")
    }

    #[test]
    fn who_has_the_lease_may_write_and_nobody_else() {
        let mut in_between = map("a", 20);
        in_between.received = serde_json::from_str("\"2026-11-22T01:30:20.400000Z\"").unwrap();
        let good = handed_over([map("a", 10), map("a", 19), in_between, map("b", 21)]);
        let holders = ["a", "b"].map(str::to_owned).to_vec();
        assert_eq!((&good.holders, good.writes), (&holders, 4));
        assert_eq!(good.strays, Vec::<String>::new());
        let cases = [
            (
                map("a", 9),
                "a: update /configmaps at 2026-11-22T01:30:09Z: it did not have the Lease",
            ),
            (
                map("a", 21),
                "a: update /configmaps at 2026-11-22T01:30:21Z: b had it since 2026-11-22T01:30:20.5Z",
            ),
            (
                map("b", 19),
                "b: update /configmaps at 2026-11-22T01:30:19Z: it did not have the Lease",
            ),
            (
                map("c", 30),
                "c: update /configmaps at 2026-11-22T01:30:30Z: it did not have the Lease",
            ),
        ];
        for (event, why) in cases {
            assert_eq!(handed_over([event]).strays, [why]);
        }
    }

    #[test]
    fn a_lease_that_is_given_up_is_nobodys_and_events_and_reads_are_no_writes() {
        let mut read = map("c", 12);
        read.verb = "get".to_owned();
        let events = write("a", 40, "events", Value::Null);
        let judged = handed_over([
            lease("b", 25, ""),
            lease("a", 26, "a"),
            map("a", 19),
            map("a", 27),
            read,
            events,
        ]);
        assert_eq!(judged.holders, ["a", "b", "a"]);
        let after = handed_over([lease("b", 25, ""), map("b", 26)]).strays;
        let why = "b: update /configmaps at 2026-11-22T01:30:26Z: it had given it up at 2026-11-22T01:30:25.5Z";
        assert_eq!(after, [why]);
        assert_eq!((judged.writes, judged.strays.len()), (2, 0));
    }
}
