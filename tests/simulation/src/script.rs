//! What a user does in a run: drawn from a seed, the same whatever goes wrong meanwhile.
//!
//! - Whatever a script does, the state that it asks for in the end does not depend on timing: who recreates
//!   an object waits until the old one is gone.

use std::fmt::{self, Display, Formatter};

/// What the greeter makes for a Greeting and watches; the entry in its register it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The ConfigMap with the text.
    Text,
    /// The Deployment.
    Pods,
}

/// One thing that a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Creates the Greeting; waits until one of that name is gone.
    Create(&'static str),
    /// Asks for another text, and as many replicas.
    Change(&'static str, &'static str, u64),
    /// Labels the Greeting, which concerns nobody.
    Label(&'static str, u64),
    /// Edits what the greeter made.
    Edit(&'static str, Part),
    /// Deletes what the greeter made.
    DeletePart(&'static str, Part),
    /// Deletes the Greeting.
    Delete(&'static str),
    /// Puts a finalizer of its own on the Greeting, or takes it off.
    Hold(&'static str, bool),
    /// Waits until the Greeting is as it is asked for, or gone; not longer than a minute.
    Settle(&'static str),
    /// Waits for so many milliseconds.
    Wait(u64),
}

/// The names of the Greetings.
const NAMES: [&str; 2] = ["ada", "bob"];

/// What they are greeted with.
const TEXTS: [&str; 4] = ["Hello", "Good morning", "Ahoy", "Salve"];

/// The life of one Greeting: made, changed, spoiled, deleted.
pub fn life() -> Vec<Action> {
    vec![
        Action::Create("ada"),
        Action::Settle("ada"),
        Action::Change("ada", "Ahoy", 2),
        Action::Settle("ada"),
        Action::DeletePart("ada", Part::Text),
        Action::Settle("ada"),
        Action::Delete("ada"),
        Action::Settle("ada"),
    ]
}

/// A script.
pub fn drawn(seed: u64) -> Vec<Action> {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x5c71_9700);
    let mut script = vec![Action::Create("ada")];
    let mut there = [true, false];
    let mut held = [false, false];
    for _ in 0..rng.usize(4..12) {
        let index = rng.usize(..NAMES.len());
        let (Some(name), Some(there), Some(held)) = (
            NAMES.get(index).copied(),
            there.get_mut(index),
            held.get_mut(index),
        ) else {
            continue;
        };
        if !*there {
            *there = true;
            script.push(Action::Create(name));
            continue;
        }
        let part = rng.choice([Part::Text, Part::Pods]);
        let part = part.unwrap_or(Part::Text);
        let action = match rng.u32(..10) {
            0 | 1 => Action::Change(name, rng.choice(TEXTS).unwrap_or("Hello"), rng.u64(..4)),
            2 => Action::Label(name, rng.u64(..10)),
            3 => Action::Edit(name, part),
            4 => Action::DeletePart(name, part),
            5 => {
                *there = false;
                if std::mem::take(held) {
                    script.push(Action::Delete(name));
                    script.push(Action::Wait(rng.u64(..2000)));
                    Action::Hold(name, false)
                } else {
                    Action::Delete(name)
                }
            }
            6 => {
                *held = !*held;
                Action::Hold(name, *held)
            }
            7 | 8 => Action::Settle(name),
            _ => Action::Wait(rng.u64(..3000)),
        };
        script.push(action);
    }
    for (name, held) in NAMES.into_iter().zip(held) {
        if held {
            script.push(Action::Hold(name, false));
        }
    }
    script
}

impl Display for Action {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(name) => write!(out, "create {name}"),
            Self::Change(name, text, replicas) => {
                write!(out, "change {name} to {text:?} with {replicas} replicas")
            }
            Self::Label(name, value) => write!(out, "label {name} {value}"),
            Self::Edit(name, part) => write!(out, "edit {part:?} of {name}"),
            Self::DeletePart(name, part) => write!(out, "delete {part:?} of {name}"),
            Self::Delete(name) => write!(out, "delete {name}"),
            Self::Hold(name, true) => write!(out, "hold {name}"),
            Self::Hold(name, false) => write!(out, "let {name} go"),
            Self::Settle(name) => write!(out, "wait until {name} has settled"),
            Self::Wait(millis) => write!(out, "wait {millis} ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_script_again_and_holds_nothing_in_the_end() {
        for seed in 0..200 {
            let script = drawn(seed);
            assert_eq!(script, drawn(seed));
            for name in NAMES {
                let mut holds = script.iter().filter_map(|action| match action {
                    Action::Hold(of, on) if *of == name => Some(*on),
                    _ => None,
                });
                assert_ne!(holds.next_back(), Some(true), "{seed}");
            }
        }
    }
}
