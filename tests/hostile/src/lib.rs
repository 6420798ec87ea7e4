//! A guest that attacks the host in the way its configuration names: `{"attack": "spin"}`.
//!
//! It speaks the contract directly: of the SDK it takes the generated bindings and nothing else, so
//! that nothing stands between it and the host. `ATTACKS` is the list; any other name, or none, is a
//! healthy guest that does nothing.
//! Built for wasm only: natively there is nobody to attack.

#![cfg(target_family = "wasm")]

mod crash;
mod flood;
#[path = "../../attacker/src/guest.rs"]
mod guest;
mod hoard;
mod leak;
mod lie;
mod trespass;

use std::ops::Deref;

use guest::{API_VERSION, Attacks, Identity, KIND, Outcome};
use windlass_sdk::bindings::exports::windlass::plugin::controller::Guest;
use windlass_sdk::bindings::windlass::plugin::types::{
    Action, Description, Failure, ObjectRef, Progress, Request, Trigger,
};

/// Every attack by its name in the configuration.
const ATTACKS: &Attacks<Primary> = &[
    // crash.rs: ends the call without an answer.
    ("trap", crash::trap),
    ("panic", crash::panic),
    ("recurse", crash::recurse),
    ("exit", crash::exit),
    ("print", crash::print),
    // hoard.rs: takes time and memory.
    ("spin", hoard::spin),
    ("spin_log", hoard::spin_log),
    ("spin_sleep", hoard::spin_sleep),
    ("hoard", hoard::hoard),
    ("hoard_slow", hoard::hoard_slow),
    // lie.rs: malformed arguments and answers, each in a call of its own or all in one.
    ("garbage", lie::garbage),
    ("garbage_failure", lie::failure),
    ("garbage_event", lie::event),
    ("garbage_json", lie::json),
    ("garbage_deep", lie::deep),
    ("garbage_patch", lie::patch),
    ("garbage_set", lie::set),
    ("garbage_requeue", lie::requeue),
    // flood.rs: too much of what is allowed.
    ("flood_log", flood::log),
    ("flood_events", flood::events),
    ("flood_metrics", flood::metrics),
    ("flood_api", flood::api),
    ("wait_api", flood::wait_api),
    ("hurry", flood::hurry),
    ("alarm", flood::alarm),
    // leak.rs: tells what a Secret holds.
    ("tell_secret", leak::tell),
    ("storm", flood::storm),
    // trespass.rs: writes what a grant must not cover.
    ("write_secret", trespass::write_secret),
    ("foreign_owner", trespass::foreign_owner),
    ("foreign_finalizer", trespass::foreign_finalizer),
    ("other_namespace", trespass::other_namespace),
    ("create_foreign_owner", trespass::create_foreign_owner),
    ("patch_finalizers", trespass::patch_finalizers),
    ("patch_owners", trespass::patch_owners),
    ("post_eviction", trespass::post_eviction),
    ("set_elsewhere", trespass::set_elsewhere),
    ("write_label", trespass::write_label),
    ("set_label", trespass::set_label),
    ("patch_label", trespass::patch_label),
    ("patch_labels", trespass::patch_labels),
    // No attack: writes that are in order.
    ("healthy_write", trespass::healthy_write),
    ("healthy_writes", trespass::healthy_writes),
    ("large_write", trespass::large_write),
];

/// The object that the call is for.
struct Primary(Identity);

impl Deref for Primary {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.0
    }
}

impl Primary {
    /// A ConfigMap `<primary>-<suffix>` beside the primary.
    fn config_map(&self, suffix: &str) -> ObjectRef {
        self.core("ConfigMap", &format!("{}-{suffix}", self.name))
    }
}

struct Hostile;

impl Guest for Hostile {
    fn describe() -> Description {
        let reads = ["get", "list", "watch"];
        let needs = guest::rule("examples.windlass.dev", "greetings", &[], &reads);
        guest::description("hostile", Trigger::AnyChange, vec![needs])
    }

    fn reconcile(request: Request) -> Outcome {
        let primary = Primary(Identity::of(&request.object));
        guest::choose(ATTACKS, &guest::configuration(), &primary)
    }

    fn finalize(_: Request) -> Result<Progress, Failure> {
        Ok(Progress::Done)
    }
}

windlass_sdk::bindings::export_component!(Hostile with_types_in windlass_sdk::bindings);
