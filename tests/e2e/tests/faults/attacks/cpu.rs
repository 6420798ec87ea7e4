//! Attacks on the processor and on the slots for calls.

use crate::attacks::attack::{ATTACK, Attack, HOSTILE, Longer, Sign, attacks};
use crate::attacks::neighbours::NINE;

/// What a pass that used too much processor time says.
const CPU: &[Sign] = &[
    Sign::Log("raise spec.limits.cpu if that is right"),
    Sign::Metric(r#"windlass_failures_total\{CONTROLLER,reason="cpu_exceeded"\}"#),
];

attacks! {
    a_plugin_that_spins_is_stopped => Attack {
        config: r#"{ "attack": "spin" }"#,
        longer: Longer::Passes,
        signs: CPU,
        neighbours: NINE,
        ..HOSTILE
    },
    eight_plugins_that_spin_leave_their_neighbours_their_share => Attack {
        config: r#"{ "attack": "spin" }"#,
        // Up to 64 calls spin at once: with the default of 5 s the first ends after minutes on two processors.
        limits: r#"{ "cpu": "500ms" }"#,
        attackers: 8,
        objects: 8,
        passes: 8,
        // Two for each call slot that they can take.
        most_passes: 128,
        longer: Longer::Passes,
        signs: CPU,
        neighbours: NINE,
        ..HOSTILE
    },
    eight_plugins_that_sleep_end_at_once => Attack {
        config: r#"{ "attack": "spin_sleep" }"#,
        attackers: 8,
        objects: 8,
        passes: 8,
        signs: &[
            Sign::Log("time does not advance during a call; return requeue-after"),
            Sign::Metric(r#"windlass_failures_total\{CONTROLLER,reason="trapped"\}"#),
        ],
        neighbours: NINE,
        ..HOSTILE
    },
    a_plugin_that_copies_memory_without_end_is_stopped => Attack {
        config: r#"{ "attack": "copy_without_end" }"#,
        longer: Longer::Passes,
        signs: CPU,
        neighbours: NINE,
        ..ATTACK
    },
    a_plugin_that_lists_without_end_is_stopped => Attack {
        config: r#"{ "attack": "list_without_end" }"#,
        longer: Longer::Passes,
        signs: CPU,
        neighbours: NINE,
        ..ATTACK
    },
    a_plugin_that_traps_in_each_pass_is_slowed_down => Attack {
        config: r#"{ "attack": "trap" }"#,
        signs: &[
            Sign::Log("unreachable"),
            Sign::Metric(r#"windlass_failures_total\{CONTROLLER,reason="trapped"\}"#),
        ],
        neighbours: NINE,
        ..HOSTILE
    },
}
