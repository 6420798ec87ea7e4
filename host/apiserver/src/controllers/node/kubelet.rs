//! The kubelet: takes the pods of its node through their lives, each step when it is due.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::pods::status::{self, Address};
use super::pods::{self, PodStep};
use super::{KUBELET, machine};
use crate::controllers::client::{At, Client, Failed, core};
use crate::meta;
use crate::seams::Instant;
use crate::server::Server;
use crate::store::NamespacedName;

#[derive(Debug, Default)]
pub(super) struct Kubelet {
    /// When pods start or end, by uid.
    changes: BTreeMap<(String, PodStep), Instant>,
    /// Addresses given out.
    addresses: u32,
}

impl Kubelet {
    /// One that begins again, and gives no address twice.
    pub(super) fn again(&self) -> Self {
        Self {
            addresses: self.addresses,
            ..Self::default()
        }
    }

    /// Forgets a pod that has gone.
    pub(super) fn forget(&mut self, gone: &str) {
        self.changes.retain(|(uid, _), _| uid != gone);
    }

    /// Takes a pod's next step, or answers when it is time for it.
    pub(super) fn step(
        &mut self,
        server: &Server,
        key: &NamespacedName,
        pod: Value,
        now: Instant,
    ) -> Result<Option<Instant>, Failed> {
        let wall = server.seams().clock.wall();
        let (step, delay) = pods::timed(&pod, server.options(), wall);
        let uid = meta::text(&pod, "uid").to_owned();
        if let Some(delay) = delay {
            let change = (uid.clone(), step);
            let due = *self.changes.entry(change).or_insert(now + delay);
            if now < due {
                return Ok(Some(due));
            }
        }
        let registry = server.registry();
        let resource = core(&registry, "pods").ok_or(Failed::Absent)?;
        let (at, part) = (At::new(resource, key), At::status(resource, key));
        let agent = KUBELET;
        let kubelet = Client { server, agent };
        match step {
            PodStep::Leave | PodStep::Schedule => {}
            PodStep::Admit => kubelet.replace(part, &status::admitted(pod, wall))?,
            PodStep::Start => {
                let address = self.address(&pod);
                let number = || server.seams().rng.number();
                kubelet.replace(part, &status::running(pod, &address, number, wall))?;
            }
            PodStep::Refresh => kubelet.replace(part, &status::refreshed(pod, wall))?,
            PodStep::Finish => kubelet.replace(part, &status::stopped(pod, wall))?,
            PodStep::Stop => kubelet.replace(part, &status::deleted(pod, wall))?,
            PodStep::Fail => kubelet.replace(part, &status::failed(pod, wall))?,
            PodStep::Expire => kubelet.replace(part, &status::expired(pod, wall))?,
            PodStep::Remove => {
                let options = json!({ "gracePeriodSeconds": 0, "preconditions": { "uid": uid } });
                kubelet.delete(at, &options)?;
            }
        }
        Ok(None)
    }

    fn address(&mut self, pod: &Value) -> Address {
        if pod.pointer("/spec/hostNetwork") == Some(&Value::Bool(true)) {
            return Address(machine::address(pods::node(pod)));
        }
        self.addresses += 1;
        let [_, high, middle, low] = self.addresses.to_be_bytes();
        // Host parts of 0 and 255 are addresses like others in such a large network.
        Address(format!("10.{}.{middle}.{low}", high.wrapping_add(244)))
    }
}
