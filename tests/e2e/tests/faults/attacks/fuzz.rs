//! Calls of every import with arguments made up from a seed.

use crate::attacks::attack::{ATTACK, Attack, Longer, Sign, attacks};

attacks! {
    calls_made_up_from_a_seed_harm_nobody => Attack {
        config: r#"{ "attack": "fuzz", "seed": 20261125, "count": 80 }"#,
        limits: r#"{ "cpu": "10s" }"#,
        objects: 16,
        passes: 16,
        // Nothing traps and nothing runs out: all passes succeed.
        signs: &[
            Sign::Metric(r#"windlass_host_calls_total\{CONTROLLER,call="get",result="invalid"\}"#),
            Sign::Metric(r#"windlass_host_calls_total\{CONTROLLER,call="apply-set",result="[a-z]+"\}"#),
            Sign::Log("may not"),
        ],
        longer: Longer::Objects,
        peak: 300,
        ..ATTACK
    },
}
