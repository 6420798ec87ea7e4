//! Pods: what kubectl shows of their containers in two words.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::human;
use super::part::{NONE, TimedValue};

/// A pod that has ended says so beside its cells.
pub(super) fn conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match pod.pointer("/status/phase")?.as_str()? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{
        "type": "Completed", "status": "True", "reason": reason, "message": message,
    }]))
}

pub(super) fn cells(pod: TimedValue<'_>) -> Vec<Value> {
    let state = state(pod);
    let total = pod.count("/spec/containers") + sidecars(pod).len();
    let restarts = match state.restarted {
        Some(last) if state.restarts != 0 => {
            format!("{} ({} ago)", state.restarts, human(last, pod.now()))
        }
        _ => state.restarts.to_string(),
    };
    let ips = pod.list("/status/podIPs");
    let ip = ips.first().map_or("", |ip| ip.text("/ip"));
    vec![
        pod.name(),
        format!("{}/{total}", state.ready).into(),
        state.reason.into(),
        restarts.into(),
        pod.age(),
        if ip.is_empty() { NONE } else { ip }.into(),
        pod.text_or("/spec/nodeName", NONE).into(),
        pod.text_or("/status/nominatedNodeName", NONE).into(),
        readiness_gates(pod).into(),
    ]
}

/// What a pod is doing.
#[derive(Default)]
struct PodState {
    reason: String,
    ready: usize,
    restarts: i64,
    restarted: Option<Timestamp>,
}

impl PodState {
    fn count(&mut self, container: &TimedValue<'_>) {
        self.restarts += container.int("/restartCount");
        let ended = container
            .text("/lastState/terminated/finishedAt")
            .parse()
            .ok();
        self.restarted = self.restarted.max(ended);
    }
}

/// The init containers that go on running.
fn sidecars(pod: TimedValue<'_>) -> Vec<&str> {
    let all = pod.list("/spec/initContainers");
    let sidecars = all
        .iter()
        .filter(|container| container.text("/restartPolicy") == "Always");
    sidecars.map(|container| container.text("/name")).collect()
}

fn state(pod: TimedValue<'_>) -> PodState {
    let phase = pod.text("/status/phase");
    let mut state = PodState {
        reason: pod.text_or("/status/reason", phase).to_owned(),
        ..PodState::default()
    };
    let gated = |condition: &TimedValue<'_>| {
        condition.text("/type") == "PodScheduled" && condition.text("/reason") == "SchedulingGated"
    };
    if pod.list("/status/conditions").iter().any(gated) {
        "SchedulingGated".clone_into(&mut state.reason);
    }
    let mut of_sidecars = PodState::default();
    let initializing = init(pod, &mut state, &mut of_sidecars);
    if !initializing || pod.condition("Initialized") {
        state.restarts = of_sidecars.restarts;
        state.restarted = of_sidecars.restarted;
        run(pod, &mut state);
    }
    let is_over = phase == "Succeeded" || phase == "Failed";
    if pod.is_terminating() && pod.text("/status/reason") == "NodeLost" {
        "Unknown".clone_into(&mut state.reason);
    } else if pod.is_terminating() && !is_over {
        "Terminating".clone_into(&mut state.reason);
    }
    state
}

/// Goes through the init containers up to the first that has not ended; answers whether there is one.
fn init(pod: TimedValue<'_>, state: &mut PodState, of_sidecars: &mut PodState) -> bool {
    let sidecars = sidecars(pod);
    let total = pod.count("/spec/initContainers");
    for (index, container) in pod.list("/status/initContainerStatuses").iter().enumerate() {
        let is_sidecar = sidecars.contains(&container.text("/name"));
        state.count(container);
        if is_sidecar {
            of_sidecars.count(container);
        }
        let ended = container.part("/state/terminated");
        let waits = container.text("/state/waiting/reason");
        state.reason = match ended {
            Some(ended) if ended.int("/exitCode") == 0 => continue,
            _ if is_sidecar && container.is_true("/started") => {
                state.ready += usize::from(container.is_true("/ready"));
                continue;
            }
            Some(ended) => format!("Init:{}", how_ended(ended)),
            None if !waits.is_empty() && waits != "PodInitializing" => format!("Init:{waits}"),
            None => format!("Init:{index}/{total}"),
        };
        return true;
    }
    false
}

fn how_ended(ended: TimedValue<'_>) -> String {
    match (ended.text("/reason"), ended.int("/signal")) {
        ("", 0) => format!("ExitCode:{}", ended.int("/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Goes through the containers, the last one first.
fn run(pod: TimedValue<'_>, state: &mut PodState) {
    let mut running = false;
    let mut failed = String::new();
    for container in pod.list("/status/containerStatuses").iter().rev() {
        state.count(container);
        let waits = container.text("/state/waiting/reason");
        if !waits.is_empty() {
            waits.clone_into(&mut state.reason);
        } else if let Some(ended) = container.part("/state/terminated") {
            state.reason = how_ended(ended);
            if ended.int("/exitCode") != 0 {
                failed.clone_from(&state.reason);
            }
        } else if container.is_true("/ready") && container.has("/state/running") {
            running = true;
            state.ready += 1;
        }
    }
    if state.reason == "Completed" {
        if running && pod.condition("Ready") {
            "Running".clone_into(&mut state.reason);
        } else if !failed.is_empty() {
            state.reason = failed;
        } else if running {
            "NotReady".clone_into(&mut state.reason);
        }
    }
}

fn readiness_gates(pod: TimedValue<'_>) -> String {
    let gates = pod.list("/spec/readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| pod.condition(gate.text("/conditionType")));
    format!("{}/{}", open.count(), gates.len())
}
