//! A Deployment, as far as its controller reads it.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use windlass_kit::percent::{Bounds, IntOrPercent};
use windlass_sdk::Object;

use crate::status::Status;

/// A Deployment.
pub(crate) type Deployment = Object<Spec, Status>;

/// No deadline: the largest number of the field.
const NEVER: i64 = 2_147_483_647;

/// What is wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    replicas: Option<i64>,
    pub(crate) selector: Value,
    pub(crate) template: Value,
    #[serde(default)]
    strategy: Strategy,
    #[serde(default)]
    pub(crate) min_ready_seconds: i64,
    revision_history_limit: Option<i64>,
    #[serde(default)]
    pub(crate) paused: bool,
    progress_deadline_seconds: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Strategy {
    r#type: Option<String>,
    rolling_update: Option<RollingUpdate>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RollingUpdate {
    max_surge: Option<IntOrPercent>,
    max_unavailable: Option<IntOrPercent>,
}

impl Spec {
    /// How many replicas are wanted.
    pub(crate) fn replicas(&self) -> i64 {
        self.replicas.unwrap_or(1)
    }

    /// Whether old pods end before new ones begin.
    pub(crate) fn recreates(&self) -> bool {
        self.strategy.r#type.as_deref() == Some("Recreate")
    }

    /// How far a rolling update may go from the wanted number.
    pub(crate) fn bounds(&self) -> Bounds {
        if self.recreates() {
            return Bounds::default();
        }
        let update = self.strategy.rolling_update.as_ref();
        let surge = update.and_then(|update| update.max_surge.as_ref());
        let unavailable = update.and_then(|update| update.max_unavailable.as_ref());
        Bounds::of(surge, unavailable, self.replicas())
    }

    /// How many replicas there may be.
    pub(crate) fn most(&self) -> i64 {
        self.replicas() + self.bounds().surge
    }

    /// How many replicas must be available.
    pub(crate) fn least_available(&self) -> i64 {
        self.replicas() - self.bounds().unavailable
    }

    /// How long an update may rest before it counts as failed. None is forever.
    pub(crate) fn deadline(&self) -> Option<SignedDuration> {
        let seconds = self.progress_deadline_seconds?;
        (seconds < NEVER).then(|| SignedDuration::from_secs(seconds))
    }

    /// How many old sets stay. None keeps them all.
    pub(crate) fn history(&self) -> Option<usize> {
        let limit = self.revision_history_limit?;
        (limit < NEVER).then(|| usize::try_from(limit).unwrap_or(0))
    }
}

/// The time in whole seconds: an API server keeps no more of the times in a status.
pub(crate) fn seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
