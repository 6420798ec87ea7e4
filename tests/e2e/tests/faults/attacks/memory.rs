//! Attacks on the host's memory. The host has 1 GiB, as in `deploy/base`.

use crate::attacks::attack::{ATTACK, Attack, Longer, Sign, attacks};

/// An attack that would use more memory than the host has.
const HOARD: Attack = Attack {
    in_1_gib: true,
    objects: 8,
    passes: 8,
    peak: 400,
    ..ATTACK
};

/// JSON that is 3 MiB as text and hundreds of megabytes as a tree, of a kind that no grant covers.
const BOMB: Attack = Attack {
    signs: &[
        Sign::Log("may not"),
        Sign::Metric(r#"windlass_host_calls_total\{CONTROLLER,call="[a-z-]+",result="denied"\}"#),
    ],
    ..HOARD
};

/// What a call beyond its plugin's memory limit says.
const LIMITED: &[Sign] = &[
    Sign::Log("limit"),
    Sign::Metric(r#"windlass_host_calls_total\{CONTROLLER,call="[a-z-]+",result="other"\}"#),
];

attacks! {
    made_up_kinds_are_not_remembered => Attack {
        config: r#"{ "attack": "read_made_up_kinds", "bytes": 4000000, "count": 40 }"#,
        objects: 12,
        passes: 12,
        signs: &[Sign::Metric(
            r#"windlass_host_calls_total\{CONTROLLER,call="get",result="(denied|invalid)"\}"#,
        )],
        ..HOARD
    },
    names_that_no_object_has_are_not_remembered => Attack {
        config: r#"{ "attack": "read_long_names", "bytes": 4000000, "count": 40 }"#,
        objects: 12,
        passes: 12,
        signs: &[Sign::Metric(
            r#"windlass_host_calls_total\{CONTROLLER,call="get",result="invalid"\}"#,
        )],
        ..HOARD
    },
    lists_by_long_selectors_count_as_the_plugins_memory => Attack {
        config: r#"{ "attack": "list_by_long_selectors", "count": 999 }"#,
        limits: r#"{ "cpu": "10s" }"#,
        objects: 20,
        passes: 20,
        signs: LIMITED,
        ..HOARD
    },
    a_json_bomb_that_nobody_granted_is_not_parsed => Attack {
        config: r#"{ "attack": "apply_json_bomb" }"#,
        ..BOMB
    },
    a_json_bomb_that_nobody_may_create_is_not_parsed => Attack {
        config: r#"{ "attack": "create_json_bomb" }"#,
        ..BOMB
    },
    a_set_of_json_bombs_that_nobody_granted_is_not_parsed => Attack {
        config: r#"{ "attack": "apply_set_json_bombs" }"#,
        ..BOMB
    },
    a_patch_with_a_json_bomb_that_nobody_granted_is_not_parsed => Attack {
        config: r#"{ "attack": "patch_json_bomb" }"#,
        ..BOMB
    },
    a_granted_json_bomb_is_counted_before_it_is_built => Attack {
        config: r#"{ "attack": "create_json_bomb", "kind": "ConfigMap", "again": 100 }"#,
        longer: Longer::Passes,
        signs: &[Sign::Metric(
            r#"windlass_host_calls_total\{CONTROLLER,call="create",result="(invalid|other)"\}"#,
        )],
        ..HOARD
    },
    a_granted_patch_with_a_json_bomb_is_counted_before_it_is_built => Attack {
        config: r#"{ "attack": "patch_json_bomb", "kind": "ConfigMap", "again": 100 }"#,
        longer: Longer::Passes,
        signs: &[Sign::Metric(
            r#"windlass_host_calls_total\{CONTROLLER,call="patch",result="(invalid|other)"\}"#,
        )],
        ..HOARD
    },
    long_lists_count_before_they_are_refused => Attack {
        config: r#"{ "attack": "list_all", "count": 4, "again": 100 }"#,
        longer: Longer::Passes,
        limits: r#"{ "cpu": "10s" }"#,
        maps: 40,
        signs: LIMITED,
        ..HOARD
    },
    what_a_plugin_writes_and_watches_counts_as_its_memory => Attack {
        config: r#"{ "attack": "fill_store", "count": 30 }"#,
        limits: r#"{ "cpu": "10s" }"#,
        objects: 10,
        passes: 10,
        signs: LIMITED,
        ..HOARD
    },
    the_journal_does_not_keep_long_paths => Attack {
        config: r#"{ "attack": "fill_journal", "count": 20 }"#,
        limits: r#"{ "cpu": "10s" }"#,
        signs: &[Sign::Metric(r#"windlass_host_calls_total\{CONTROLLER,call="create",result="[a-z]+"\}"#)],
        ..HOARD
    },
    long_arguments_cost_processor_time => Attack {
        config: r#"{ "attack": "long_arguments" }"#,
        signs: &[
            Sign::Log("raise spec.limits.cpu if that is right"),
            Sign::Metric(r#"windlass_failures_total\{CONTROLLER,reason="cpu_exceeded"\}"#),
        ],
        ..HOARD
    },
}
