//! Guests that write what they may not.

use tracing::Level;

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
            "plugin hostile may not set finalizers other than windlass.dev/hostile",
        ),
        (
            "other_namespace",
            "plugin hostile may not create configmaps in namespace kube-system: add it to grants",
        ),
    ];
    for (attack, words) in cases {
        let siege = Siege::begin(attack, AMPLE).await;
        let called = siege.attack().await;
        assert_eq!(terminal(&called), "answer: Error::Denied", "{attack}");
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
