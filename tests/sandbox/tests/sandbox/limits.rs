//! What a plugin makes the host hold: one mebibyte below its limit and one above.

use windlass_base::memory::Bounds;
use windlass_policy::manifest::Limits;
use windlass_sandbox::Action;

use crate::common::{AMPLE, Siege, terminal, trapped};

const MIB: usize = 1 << 20;

/// What is said of the limit.
const LIMIT: &str = "the plugin would exceed its limit for memory in the host";

/// What it takes to write an object of 1 MiB: three trees of it and four texts.
const WRITE: usize = 7 * MIB;

/// An attack where all that the plugin makes the host hold may be so much.
async fn siege(attack: &str, soft: usize) -> Siege {
    let hard = soft + 64 * MIB;
    let limits = Limits {
        host_memory: Bounds { soft, hard },
        ..AMPLE
    };
    let siege = Siege::begin(attack, limits).await;
    siege.hostile.plugin.take_over();
    siege
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_refused_one_mebibyte_above_the_soft_limit_and_not_one_below_it() {
    let siege = async |soft| siege("large_write", soft).await;
    // What the guest itself takes until it writes is known when it may not.
    let called = siege(AMPLE.memory).await.attack().await;
    assert!(
        matches!(called.answer, Ok(Action::AwaitChange)),
        "{called:?}"
    );
    let refused = siege(called.memory + WRITE / 4).await.attack().await;
    let text = terminal(&refused);
    assert!(text.contains(LIMIT), "{text}");
    let guest = refused.memory;

    let below = siege(guest + WRITE + MIB).await;
    let called = below.attack().await;
    assert!(
        matches!(called.answer, Ok(Action::AwaitChange)),
        "{called:?}"
    );
    assert_eq!(below.writes().len(), 1);

    let above = siege(guest + WRITE - MIB).await;
    let called = above.attack().await;
    let text = terminal(&called);
    assert!(text.contains("Other(") && text.contains(LIMIT), "{text}");
    assert_eq!(above.writes().len(), 0);
    assert_eq!(above.hostile.plugin.account().refused(), 1);
}

/// The memory of the guest itself counts too.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_takes_memory_gets_up_to_the_soft_limit() {
    let soft = 20 * MIB;
    let siege = siege("hoard", soft).await;
    let called = siege.attack().await;
    let text = trapped(&called);
    assert!(text.contains(LIMIT), "{text}");
    let most = soft - 2 * MIB..=soft;
    assert!(most.contains(&called.memory), "{}", called.memory);
}
