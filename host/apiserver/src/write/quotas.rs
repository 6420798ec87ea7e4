//! ResourceQuotas at a write: what an object uses is noted before the object is stored (apiserver
//! `pkg/admission/plugin/resourcequota/controller.go`, `checkQuotas`).

use http::Method;
use serde_json::Value;

use super::{ObjectPart, TRIES, WantedObject, Writing};
use crate::admission::quota::{self, ChargedQuota};
use crate::admission::{Admission, amounts};
use crate::call::Call;
use crate::meta;
use crate::request::loopback::{self, Agent, At, RequestBody};
use crate::request::options::{WriteKind, WriteOptions};
use crate::request::query::Query;
use crate::request::route::Verb;
use crate::status::Refusal;
use crate::store::NamespacedName;

/// The server itself.
const AGENT: Agent = Agent {
    program: "kube-apiserver",
    user: "system:apiserver",
};

impl Writing<'_> {
    /// Charges the quotas of the namespace; a dry run is judged, and charged nothing.
    pub(super) fn charge(&self, admission: &Admission<'_>) -> Result<(), Refusal> {
        let Some(mut quotas) = quota::seen(admission) else {
            return Ok(());
        };
        for _ in 0..TRIES {
            let charged = quota::charged(admission, &quotas)?;
            if self.options.dry_run {
                return Ok(());
            }
            let mut overtaken = Vec::new();
            for charged in charged {
                match self.note(&charged) {
                    Ok(()) => {}
                    Err(refusal) if matches!(refusal.reason, "Conflict" | "NotFound") => {
                        overtaken.push(meta::text(&charged.quota, "name").to_owned());
                    }
                    Err(refusal) => return Err(refusal),
                }
            }
            if overtaken.is_empty() {
                return Ok(());
            }
            let namespace = self.call.target.namespace.as_deref().unwrap_or_default();
            quotas = quota::all(self.call.state.store(), namespace);
            quotas.retain(|quota| {
                overtaken
                    .iter()
                    .any(|name| name == meta::text(quota, "name"))
            });
        }
        Err(Refusal::internal("resource quota evaluation timed out"))
    }

    /// Writes into the status of a quota what is used now.
    fn note(&self, charged: &ChargedQuota) -> Result<(), Refusal> {
        let state = self.call.state;
        let registry = state.registry();
        let Some(resource) = registry.find("", "v1", "resourcequotas") else {
            return Ok(());
        };
        let mut quota = charged.quota.clone();
        meta::set_in(
            &mut quota,
            "status",
            "used",
            Some(amounts::written(&charged.used)),
        );
        let of = |field| meta::text(&charged.quota, field);
        let key = NamespacedName::new(of("namespace"), of("name"));
        let target = At::status(resource, &key).target(Some(&key.name));
        let request = loopback::request(
            AGENT,
            Method::PUT,
            target.clone(),
            RequestBody::Object,
            &Value::Null,
        );
        let call = Call::new(state, &request, &target, resource, Verb::Update);
        let options = WriteOptions::read(&Query::default(), WriteKind::Update)?;
        let writing = Writing::of(&call, &options, ObjectPart::Status);
        let written = writing.update(|_| Ok(WantedObject::Updated(quota.clone())));
        written.map(drop)
    }
}
