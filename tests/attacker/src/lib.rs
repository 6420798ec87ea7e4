//! A guest that attacks what plugins share on a host. Its configuration names the attack:
//! `{"attack": "apply_json_bomb", "bytes": 3000000}`.
//!
//! - `ATTACKS` is the list. Any other name is a healthy guest that does nothing.
//! - It speaks the contract directly: of the SDK it uses only the generated bindings.
//! - `describe` cannot read the configuration. So the guest always asks for the same kinds: Greetings
//!   (its primary), ConfigMaps, Bags, and the Service `allowed`.
//! - Attacks that need no grant are also in the guest `hostile`.
//!
//! Built for wasm only: natively there is no host to attack.

#![cfg(target_family = "wasm")]

mod confuse;
mod flood;
mod fuzz;
mod guest;
mod handles;
mod leak;
mod memory;
mod object;
mod text;

use std::ops::Deref;

use guest::{API_VERSION, Attacks, Identity, KIND, Outcome, rule};
use serde_json::Value;
use windlass_sdk::bindings::exports::windlass::plugin::controller::Guest;
use windlass_sdk::bindings::windlass::plugin::log::{self, Level};
use windlass_sdk::bindings::windlass::plugin::types::{
    Action, Description, Failure, Progress, Request, Trigger,
};

/// Every attack by its name in the configuration.
const ATTACKS: &Attacks<Primary> = &[
    // memory.rs: makes the host keep or build much for little.
    ("read_made_up_kinds", memory::read_made_up_kinds),
    ("read_long_names", memory::read_long_names),
    ("list_by_long_selectors", memory::list_by_long_selectors),
    ("apply_json_bomb", memory::apply_json_bomb),
    ("create_json_bomb", memory::create_json_bomb),
    ("patch_json_bomb", memory::patch_json_bomb),
    ("apply_set_json_bombs", memory::apply_set_json_bombs),
    ("fill_store", memory::fill_store),
    ("list_all", memory::list_all),
    ("fill_journal", memory::fill_journal),
    ("long_arguments", memory::long_arguments),
    // flood.rs: requests, writes, log lines and processor time.
    ("log_long_lines", flood::log_long_lines),
    ("read_from_server", flood::read_from_server),
    ("create_and_delete", flood::create_and_delete),
    ("copy_without_end", flood::copy_without_end),
    ("list_without_end", flood::list_without_end),
    // confuse.rs: tries what no grant covers.
    ("confuse_reads", confuse::reads),
    ("confuse_writes", confuse::writes),
    ("confuse_patches", confuse::patches),
    ("confuse_events", confuse::events),
    ("read_what_is_denied", confuse::read_what_is_denied),
    // handles.rs: takes resources of WASI.
    ("take_pollables", handles::take_pollables),
    ("take_streams", handles::take_streams),
    ("take_sockets", handles::take_sockets),
    // leak.rs: shows what a Secret holds.
    ("show_token", leak::show_token),
    // object.rs: reads an object that a user made.
    ("read_deep_bag", object::read_deep_bag),
    // No attack: reads the primary, and asks for the next pass.
    ("read_primary", object::read_primary),
    // text.rs: text that is not what it seems.
    ("lie", text::lie),
    // fuzz.rs: calls of all imports, at random.
    ("fuzz", fuzz::fuzz),
];

/// The object that the call is for, and the configuration of the attack.
struct Primary {
    object: Identity,
    config: Value,
}

impl Deref for Primary {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.object
    }
}

impl Primary {
    /// A number of the configuration.
    fn number(&self, field: &str, default: usize) -> usize {
        let number = self.config.get(field).and_then(Value::as_u64);
        number.map_or(default, |number| usize::try_from(number).unwrap_or(default))
    }

    /// A text of the configuration.
    fn text(&self, field: &str, default: &str) -> String {
        let text = self.config.get(field).and_then(Value::as_str);
        text.unwrap_or(default).to_owned()
    }

    /// Ends the pass. `again` of the configuration asks for the next one after as many milliseconds.
    fn end(&self) -> Outcome {
        match u32::try_from(self.number("again", 0)) {
            Ok(0) | Err(_) => Ok(Action::AwaitChange),
            Ok(milliseconds) => Ok(Action::RequeueAfter(milliseconds)),
        }
    }
}

/// Writes a line to the host's log.
fn say(text: &str) {
    log::log(Level::Warn, text, &[]);
}

/// The first 160 characters of a text.
fn short(text: &str) -> String {
    text.chars().take(160).collect()
}

struct Attacker;

impl Guest for Attacker {
    fn describe() -> Description {
        let reads = ["get", "list", "watch"];
        let needs = vec![
            rule("examples.windlass.dev", "greetings", &[], &reads),
            rule("examples.windlass.dev", "bags", &[], &reads),
            rule("", "configmaps", &[], &reads),
            rule("", "services", &["allowed"], &["get", "watch"]),
        ];
        guest::description("attacker", Trigger::SpecChange, needs)
    }

    fn reconcile(request: Request) -> Outcome {
        let primary = Primary {
            object: Identity::of(&request.object),
            config: guest::configuration(),
        };
        guest::choose(ATTACKS, &primary.config, &primary)
    }

    fn finalize(_: Request) -> Result<Progress, Failure> {
        Ok(Progress::Done)
    }
}

windlass_sdk::bindings::export_component!(Attacker with_types_in windlass_sdk::bindings);
