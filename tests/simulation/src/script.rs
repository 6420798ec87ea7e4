//! What a user does in a run: drawn from a seed, the same whatever goes wrong meanwhile.
//!
//! - Whatever a script does, the state that it asks for in the end does not depend on timing: who recreates
//!   an object waits until the old one is gone.
//! - The end of a drawn script comes when everything is healed: what a host lost for good before shows then, and
//!   soon, before the next resync hides it.

use std::fmt::{self, Display, Formatter};

use crate::which::Which;
use crate::workloads::work::Work;

/// What the plugin makes for a primary and watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The ConfigMap with the text, or the first book.
    Text,
    /// The Deployment, or the second book.
    Pods,
}

/// One thing that a user does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Creates the primary; waits until one of that name is gone.
    Create(&'static str),
    /// Asks for another text or mood, and as many replicas or books.
    Change(&'static str, &'static str, u64),
    /// Labels the primary, which concerns nobody.
    Label(&'static str, u64),
    /// Edits what the plugin made.
    Edit(&'static str, Part),
    /// Deletes what the plugin made.
    DeletePart(&'static str, Part),
    /// Deletes the primary.
    Delete(&'static str),
    /// Puts a finalizer of its own on the primary, or takes it off.
    Hold(&'static str, bool),
    /// Takes a child away from its owner.
    Disown(&'static str),
    /// Waits until that child is back, or gone.
    Readopt(&'static str),
    /// Gives the catalog a title, or takes the catalog away.
    Catalog(Option<&'static str>),
    /// Makes a note about a Bookcase, which it lists.
    Note(&'static str, u64),
    /// Makes a note be about nobody.
    Unlabel(&'static str, u64),
    /// Lets a note expire, and waits until it is deleted.
    Expire(&'static str, u64),
    /// Lets a note expire, and after so many milliseconds makes another one in its place.
    Renew(&'static str, u64, u64),
    /// Takes away what the plugin made, if it is there, and after so many milliseconds makes an object of its own under
    /// that name, unless the plugin was first.
    Squat(&'static str, Part, u64),
    /// Deletes that object of its own.
    Vacate(&'static str, Part),
    /// Waits until the primary is as it is asked for, or gone; not longer than a minute.
    Settle(&'static str),
    /// Does something to Deployments and Jobs.
    Work(Work),
    /// Waits for so many milliseconds.
    Wait(u64),
    /// What follows comes when everything is healed.
    Heal,
}

/// The names of the primaries.
pub const NAMES: [&str; 2] = ["ada", "bob"];

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

/// The life of one Bookcase, with all that its plugin can do.
pub fn life_of_a_bookcase() -> Vec<Action> {
    vec![
        Action::Create("ada"),
        Action::Settle("ada"),
        Action::Note("ada", 0),
        Action::Catalog(Some("Ahoy")),
        Action::Change("ada", "Ahoy", 3),
        Action::Settle("ada"),
        Action::Renew("ada", 0, 20),
        Action::Change("ada", "Hello", 1),
        Action::Settle("ada"),
        Action::Disown("ada"),
        Action::Readopt("ada"),
        Action::Unlabel("ada", 0),
        Action::Wait(1000),
        Action::Delete("ada"),
        Action::Settle("ada"),
    ]
}

/// A script.
pub fn drawn(which: Which, seed: u64) -> Vec<Action> {
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
        if which == Which::Steward && rng.bool() {
            script.extend(about_bookcases(name, &mut rng));
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
    script.push(Action::Heal);
    let there = NAMES.into_iter().zip(there);
    let mut there: Vec<_> = there
        .filter_map(|(name, there)| there.then_some(name))
        .collect();
    if there.is_empty() {
        there.push("ada");
        script.push(Action::Create("ada"));
    }
    for _ in 0..rng.usize(1..4) {
        let name = rng.choice(there.iter().copied()).unwrap_or("ada");
        script.extend(afterwards(which, name, &mut rng));
        // A child without an owner is nobody's if it is not wanted any more.
        if matches!(script.last(), Some(Action::Disown(_))) {
            break;
        }
    }
    script
}

/// The same script by a user who makes objects with the names of children: before the primary is there, while things
/// go wrong, and when everything is healed. Each is deleted again, so the end is the same.
pub fn squatted(mut script: Vec<Action>, seed: u64) -> Vec<Action> {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x0db1_7e40);
    let mut stay = |name| {
        let part = rng.choice([Part::Text, Part::Pods]).unwrap_or(Part::Text);
        let pause = rng.choice([0, 2, 5, 10, 40]).unwrap_or(0);
        let wait = Action::Wait(rng.u64(..3000));
        let squat = Action::Squat(name, part, pause);
        [squat, wait, Action::Vacate(name, part)]
    };
    let [squat, wait, vacate] = stay("ada");
    let (meanwhile, healed) = (stay("ada"), stay("bob"));
    let at = script.iter().position(|action| *action == Action::Heal);
    let at = at.unwrap_or(script.len());
    drop(script.splice(at..at, meanwhile));
    script.extend(healed);
    let create = 1.min(script.len());
    drop(script.splice(create..create, [wait, vacate]));
    script.insert(0, squat);
    script
}

/// What is only done when everything is healed: one at a time, and each has an effect.
fn afterwards(which: Which, name: &'static str, rng: &mut fastrand::Rng) -> Vec<Action> {
    let part = rng.choice([Part::Text, Part::Pods]).unwrap_or(Part::Text);
    let settle = Action::Settle(name);
    match (which, rng.u32(..8)) {
        (_, 0) => vec![settle, Action::DeletePart(name, part)],
        (_, 1) => vec![settle, Action::Edit(name, part)],
        (_, 2) => vec![settle, Action::Disown(name)],
        (_, 3) => vec![Action::Change(name, "Hello", rng.u64(..4))],
        (_, 4) => vec![
            Action::Change(name, "Ahoy", 2),
            settle,
            Action::Change(name, "Hello", 2),
        ],
        (Which::Steward, 5) => vec![Action::Catalog(rng.choice(TEXTS))],
        (Which::Steward, 6) => vec![Action::Note(name, 0), settle, Action::Expire(name, 0)],
        (Which::Steward, _) => vec![Action::Note(name, 1), settle, Action::Unlabel(name, 1)],
        _ => vec![Action::Change(name, "Salve", rng.u64(..4))],
    }
}

/// What is done while things go wrong, and what afterwards.
pub fn halves(script: &[Action]) -> (&[Action], &[Action]) {
    let is_heal = |action: &Action| *action == Action::Heal;
    match script.iter().position(is_heal) {
        Some(at) => (
            script.get(..at).unwrap_or_default(),
            script.get(at + 1..).unwrap_or_default(),
        ),
        None => (script, &[]),
    }
}

/// What only concerns a Bookcase that is there.
fn about_bookcases(name: &'static str, rng: &mut fastrand::Rng) -> Vec<Action> {
    let number = rng.u64(..2);
    match rng.u32(..8) {
        0 => vec![Action::Catalog(None)],
        1 | 2 => vec![Action::Catalog(rng.choice(TEXTS))],
        3 => vec![Action::Note(name, number)],
        4 => vec![Action::Unlabel(name, number)],
        5 => vec![Action::Expire(name, number)],
        6 => vec![
            Action::Note(name, number),
            Action::Wait(rng.u64(..500)),
            Action::Renew(name, number, rng.u64(..60)),
        ],
        _ => vec![
            Action::Settle(name),
            Action::Disown(name),
            Action::Readopt(name),
        ],
    }
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
            Self::Disown(name) => write!(out, "disown a child of {name}"),
            Self::Readopt(name) => write!(out, "wait until {name} has it back"),
            Self::Catalog(Some(title)) => write!(out, "call the catalog {title:?}"),
            Self::Catalog(None) => write!(out, "take the catalog away"),
            Self::Note(name, number) => write!(out, "make note {number} about {name}"),
            Self::Unlabel(name, number) => {
                write!(out, "make note {number} be about nobody, not {name}")
            }
            Self::Expire(name, number) => write!(out, "let note {number} about {name} expire"),
            Self::Renew(name, number, pause) => {
                write!(out, "renew note {number} about {name} within {pause} ms")
            }
            Self::Squat(name, part, pause) => {
                write!(out, "make {part:?} of {name} itself within {pause} ms")
            }
            Self::Vacate(name, part) => write!(out, "delete its own {part:?} of {name}"),
            Self::Settle(name) => write!(out, "wait until {name} has settled"),
            Self::Work(work) => write!(out, "{work}"),
            Self::Wait(millis) => write!(out, "wait {millis} ms"),
            Self::Heal => write!(out, "wait until everything is healed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_squats_leaves_in_the_end() {
        for seed in 0..200 {
            let script = squatted(drawn(Which::Steward, seed), seed);
            let mut open = Vec::new();
            for action in &script {
                match action {
                    Action::Squat(name, part, _) => open.push((*name, *part)),
                    Action::Vacate(name, part) => open.retain(|held| held != &(*name, *part)),
                    _ => {}
                }
            }
            assert!(open.is_empty(), "{seed}: {open:?}");
            let create = script
                .iter()
                .position(|action| matches!(action, Action::Create(_)));
            assert_eq!(create, Some(1), "{seed}: the first object is there before");
        }
    }

    #[test]
    fn a_seed_gives_the_same_script_again_and_holds_nothing_in_the_end() {
        for (which, seed) in Which::ALL
            .map(|which| (0..200).map(move |seed| (which, seed)))
            .into_iter()
            .flatten()
        {
            let script = drawn(which, seed);
            assert_eq!(script, drawn(which, seed));
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
