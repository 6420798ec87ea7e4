//! Brings workloads further, one stage after the other, as far as there is room for their pods.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Stage, Workload, job};
use crate::controllers::client::{At, Client, Failed, resource_at};
use crate::controllers::feed::{Meta, Thing};
use crate::controllers::node::scheduler::Scheduler;
use crate::controllers::node::{MANAGER, leases};
use crate::meta;
use crate::options::Options;
use crate::seams::Instant;
use crate::server::Server;
use crate::store::GroupResource;

/// What has become of a workload.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::controllers::node) struct Followed {
    /// When to look at it again.
    pub(in crate::controllers::node) again: Option<Instant>,
    /// Whether its pods have no room.
    pub(in crate::controllers::node) is_halted: bool,
}

/// Brings a workload's status one stage further, unless somebody else has it in care.
pub(in crate::controllers::node) fn follow(
    server: &Server,
    scheduler: &Scheduler,
    thing: &Thing,
    now: Instant,
) -> Result<Followed, Failed> {
    let registry = server.registry();
    let resource = resource_at(&registry, &thing.place).ok_or(Failed::Absent)?;
    let workload = Workload::of(&thing.place).ok_or(Failed::Absent)?;
    let held = server
        .store()
        .get(&thing.place, &thing.key)
        .ok_or(Failed::Absent)?;
    let mut object = held.value();
    if Meta::of(&held).is_deleting() || is_elsewhere(server, workload, thing, &object) {
        return Ok(Followed::default());
    }
    let Some(stage) = workload.stage(&object) else {
        return Ok(Followed::default());
    };
    let wall = server.seams().clock.wall();
    if let Some(early) = early(workload, &object, server.options(), wall) {
        return Ok(Followed {
            again: Some(now + early),
            ..Followed::default()
        });
    }
    let room = scheduler.room(server, &spec(workload, &object))?;
    let remaining = job::remaining(&object, wall).filter(|_| workload == Workload::Job);
    let stage = match workload.limited(&object, stage, room) {
        Stage::Done | Stage::Stuck(_) if remaining == Some(Duration::ZERO) => Stage::Expired,
        stage => stage,
    };
    let status = workload.status(&object, stage, wall);
    let again = match stage {
        Stage::Starting => Some(starts(workload, &object, server.options())),
        Stage::Stuck(_) => remaining,
        Stage::Done | Stage::Expired => None,
    };
    meta::put(&mut object, "status", status);
    let agent = MANAGER;
    Client { server, agent }.replace(At::status(resource, &thing.key), &object)?;
    Ok(Followed {
        again: again.map(|again| now + again),
        is_halted: matches!(stage, Stage::Stuck(_)),
    })
}

/// How much too early it is to ask whether the pods of a job have ended, whose spec has changed meanwhile.
fn early(workload: Workload, job: &Value, options: &Options, now: Timestamp) -> Option<Duration> {
    let active = job::active(job, now).filter(|_| workload == Workload::Job)?;
    let left = starts(workload, job, options).saturating_sub(active);
    (!left.is_zero()).then_some(left)
}

/// How soon the pods of a workload that starts run, or those of a job have ended.
fn starts(workload: Workload, object: &Value, options: &Options) -> Duration {
    if workload != Workload::Job {
        return options.pod_delay;
    }
    let done = options.pod_delay + options.job_duration;
    job::deadline(object).map_or(done, |deadline| deadline.min(done))
}

/// The spec of a workload's pods.
fn spec(workload: Workload, object: &Value) -> Value {
    let mut spec = object
        .pointer("/spec/template/spec")
        .cloned()
        .unwrap_or_else(|| json!({}));
    if workload != Workload::DaemonSet {
        return spec;
    }
    // Those of daemon sets are where others must not be (`AddOrUpdateDaemonPodTolerations` in kubernetes
    // `pkg/controller/daemon/util/daemonset_util.go`).
    let said = spec.get("tolerations").and_then(Value::as_array);
    let mut tolerations = said.cloned().unwrap_or_default();
    for (condition, effect) in [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ] {
        let key = format!("node.kubernetes.io/{condition}");
        tolerations.push(json!({ "key": key, "operator": "Exists", "effect": effect }));
    }
    meta::put(&mut spec, "tolerations", tolerations);
    spec
}

/// Whether somebody else has a workload in care.
fn is_elsewhere(server: &Server, workload: Workload, thing: &Thing, object: &Value) -> bool {
    !server.options().controllers.runs(workload.controller())
        || leases::is_led(server, "kube-controller-manager")
        || has_pods(server, workload, thing, object)
}

/// Whether a workload has pods, or what makes them, so that somebody else has it in care.
fn has_pods(server: &Server, workload: Workload, thing: &Thing, object: &Value) -> bool {
    let (group, plural) = match workload {
        Workload::Deployment => ("apps", "replicasets"),
        _ => ("", "pods"),
    };
    let place = GroupResource {
        group: group.to_owned(),
        plural: plural.to_owned(),
    };
    let uid = meta::text(object, "uid");
    let entries = { server.store() }
        .list(&place, Some(&thing.key.namespace))
        .entries;
    entries.iter().any(|entry| {
        let owners = Meta::of(entry).owner_references;
        owners
            .iter()
            .any(|owner| owner.controls() && owner.uid == uid)
    })
}
