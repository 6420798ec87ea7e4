//! Guests that write what they may not.

use tracing::Level;

use windlass_sandbox::Action;

use crate::common::{AMPLE, Siege, terminal};

#[tokio::test(flavor = "multi_thread")]
async fn what_no_grant_covers_is_denied_and_said() {
    let cases = [
        (
            "write_secret",
            "plugin hostile may not create secrets in namespace default: add it to grants",
        ),
        (
            "foreign_owner",
            "plugin hostile may not set an owner other than Greeting/default/foreign-owner with its UID",
        ),
        (
            "foreign_finalizer",
            "plugin hostile may not set the finalizer somebody.else/finalizer on configmaps",
        ),
        (
            "other_namespace",
            "plugin hostile may not create configmaps in namespace kube-system: add it to grants",
        ),
        (
            "create_foreign_owner",
            "plugin hostile may not set an owner other than Greeting/default/create-foreign-owner",
        ),
        (
            "patch_finalizers",
            "plugin hostile may not patch finalizers, owner references or managed fields of configmaps",
        ),
        (
            "patch_owners",
            "plugin hostile may not patch finalizers, owner references or managed fields of configmaps",
        ),
        (
            "post_eviction",
            "plugin hostile may not create secrets/eviction in namespace default: add it to grants",
        ),
        (
            "write_label",
            "plugin hostile may not set windlass.dev/set, since labels and annotations under windlass.dev/ are the host's and the user's,",
        ),
        (
            "set_label",
            "plugin hostile may not set windlass.dev/x, since labels and annotations under windlass.dev/ are the host's and the user's,",
        ),
        (
            "patch_label",
            "plugin hostile may not patch labels or annotations under windlass.dev/, or all of them at once,",
        ),
        (
            "patch_labels",
            "plugin hostile may not patch labels or annotations under windlass.dev/, or all of them at once,",
        ),
        (
            "set_elsewhere",
            "plugin hostile may not create configmaps in namespace kube-system: add it to grants",
        ),
    ];
    for (attack, words) in cases {
        let siege = Siege::begin(attack, AMPLE).await;
        let called = siege.attack().await;
        assert_eq!(terminal(&called), "answer: denied", "{attack}");
        assert_eq!(siege.writes(), [], "{attack}");
        let lines = siege.lines();
        let [line] = lines.as_slice() else {
            panic!("{attack}: {lines:?}")
        };
        assert_eq!(line.level, Level::WARN, "{attack}");
        assert!(
            line.message.starts_with(words),
            "{attack}: {}",
            line.message
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_granted_is_created_patched_and_applied_as_a_set() {
    let siege = Siege::begin("healthy_writes", AMPLE).await;
    let called = siege.attack().await;
    assert!(
        matches!(called.answer, Ok(Action::AwaitChange)),
        "{called:?}"
    );
    let writes: Vec<_> = siege
        .writes()
        .iter()
        .map(|write| format!("{:?} {}", write.verb, write.target.name))
        .collect();
    assert_eq!(
        writes,
        [
            "Create healthy-writes-made",
            "Patch healthy-writes-made",
            "Patch healthy-writes-made",
            "Apply healthy-writes-b",
            "Apply healthy-writes-a",
        ]
    );
}
