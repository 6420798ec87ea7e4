//! A user makes objects with the names of children, before and while the plugin runs, and keeps them.

use windlass_simulation::fault::{Fault, What};
use windlass_simulation::run::Case;
use windlass_simulation::script::{Action, Part};
use windlass_simulation::which::Which;

use crate::all_hold;

/// The life of a primary among objects of the user.
fn life(pause: u64) -> Vec<Action> {
    let stay = |part| {
        [
            Action::Squat("ada", part, pause),
            Action::Wait(2000),
            Action::Vacate("ada", part),
            Action::Settle("ada"),
        ]
    };
    let mut script = vec![Action::Squat("ada", Part::Text, 0), Action::Create("ada")];
    script.extend([
        Action::Wait(2000),
        Action::Vacate("ada", Part::Text),
        Action::Settle("ada"),
    ]);
    script.extend(stay(Part::Pods));
    script.extend(stay(Part::Text));
    // Its set is smaller, or its children are others, while the object is there.
    script.extend([
        Action::Squat("ada", Part::Pods, pause),
        Action::Change("ada", "Ahoy", 1),
        Action::Wait(2000),
        Action::Vacate("ada", Part::Pods),
        Action::Settle("ada"),
        Action::Squat("ada", Part::Text, 0),
        Action::Delete("ada"),
        Action::Settle("ada"),
        Action::Vacate("ada", Part::Text),
    ]);
    script
}

fn case(which: Which, seed: u64, pause: u64, faults: &[Fault]) -> Case {
    Case {
        seed,
        script: life(pause),
        ..Case::life_with(which, faults)
    }
}

#[test]
fn what_the_user_made_is_left_alone_in_any_order_of_events() {
    let cases = Which::ALL.into_iter().flat_map(|which| {
        let pauses = [0, 3, 8].into_iter();
        pauses.flat_map(move |pause| (0..10).map(move |seed| case(which, seed, pause, &[])))
    });
    all_hold(&cases.collect::<Vec<_>>());
}

#[test]
fn what_the_user_made_is_left_alone_whatever_fails() {
    let whats = [
        What::CrashDone,
        What::CrashAfter,
        What::ResetDone,
        What::Reset,
    ];
    let cases = Which::ALL.into_iter().flat_map(|which| {
        let faults = whats.iter().flat_map(|what| {
            let size = what.sizes().first().copied().unwrap_or(0);
            (0..12).map(move |at| Fault {
                what: *what,
                at,
                size,
            })
        });
        let cases = faults.map(move |fault| case(which, 1, 3, &[fault]));
        cases.collect::<Vec<_>>()
    });
    all_hold(&cases.collect::<Vec<_>>());
}
