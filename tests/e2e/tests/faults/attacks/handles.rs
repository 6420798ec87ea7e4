//! Attacks with resources of WASI that the host keeps for a guest.

use crate::attacks::attack::{ATTACK, Attack, Sign, attacks};

/// A guest that takes a million resources, where a call may hold a thousand.
const HOLD: Attack = Attack {
    signs: &[
        Sign::Log("plugin trapped"),
        Sign::Metric(r#"windlass_failures_total\{CONTROLLER,reason="trapped"\}"#),
    ],
    peak: 200,
    ..ATTACK
};

attacks! {
    pollables_without_end_end_the_call => Attack {
        config: r#"{ "attack": "take_pollables" }"#,
        ..HOLD
    },
    streams_without_end_end_the_call => Attack {
        config: r#"{ "attack": "take_streams" }"#,
        ..HOLD
    },
    sockets_are_refused_and_take_no_descriptors => Attack {
        config: r#"{ "attack": "take_sockets" }"#,
        limits: r#"{ "cpu": "10s" }"#,
        signs: &[
            Sign::Log("holds 0 sockets"),
            Sign::Metric(r#"controller_runtime_reconcile_total\{CONTROLLER,kind="Greeting",result="success"\}"#),
        ],
        descriptors: 256,
        ..HOLD
    },
}
