//! What the queue hands out when, in virtual time.

use super::super::wake_reasons::REASONS;
use super::*;
use futures::FutureExt;

fn key(name: &str) -> QueueKey {
    QueueKey {
        kind: 0,
        key: Key::new(None, name),
    }
}

fn taken(taken: Option<WorkItem>) -> Option<QueueKey> {
    taken.map(|taken| taken.key)
}

fn wakeup(name: &str, why: WakeReason) -> Enqueue {
    Enqueue {
        key: Key::new(None, name),
        why,
        low: false,
    }
}

fn queue() -> WorkQueue {
    let queue = WorkQueue::new(Clock::system(), Arc::default());
    queue.open();
    queue
}

#[tokio::test(start_paused = true)]
async fn a_queue_collects_nothing_before_it_is_opened() {
    let queue = WorkQueue::new(Clock::system(), Arc::default());
    queue.add(0, wakeup("early", WakeReason::Listed));
    let mut waiting = Box::pin(queue.take());
    assert!((&mut waiting).now_or_never().is_none());
    queue.open();
    assert!((&mut waiting).now_or_never().is_none());
    queue.add(0, wakeup("a", WakeReason::Listed));
    assert_eq!(taken(waiting.await), Some(key("a")));
    assert_eq!(queue.load(), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_gets_a_key_when_its_delay_ends() {
    let queue = queue();
    let start = queue.clock.now();
    let delay = Duration::from_secs(20);
    queue.add_after(key("a"), delay, WakeReason::Requeued, Priority::Normal);
    assert_eq!(taken(queue.take().await), Some(key("a")));
    assert_eq!(queue.clock.now() - start, Duration::from_secs(20));
}

/// `windlass dev --once` ended in the middle of a loop: two objects wrote to each other, and both waited for their pace.
#[tokio::test(start_paused = true)]
async fn a_key_that_waits_for_its_pace_is_held_and_not_idle() {
    for hold in [Hold::Pace, Hold::HotLoop] {
        let (queue, second) = (queue(), Duration::from_secs(1));
        queue.add(0, wakeup("a", WakeReason::Listed));
        let one = queue.take().await.unwrap();
        queue.hold(&key("a"), second, hold);
        queue.done(&one);
        assert_eq!(queue.held(0, hold), [], "nothing has changed");
        let why = WakeReason::Changed("Greeting".into(), Key::new(None, "b"));
        queue.add(0, wakeup("a", why));
        assert!(queue.take().now_or_never().is_none());
        let depth = queue.waiting();
        assert_eq!((depth.normal, depth.running, depth.delayed), (0, 0, 1));
        assert_eq!(queue.held(0, hold), [key("a").key]);
        assert_eq!(queue.held(1, hold), [], "of another kind");
        let other = [Hold::Pace, Hold::HotLoop].map(|it| queue.held(0, it).len());
        assert_eq!(other.iter().sum::<usize>(), 1, "{hold:?}");
        let start = queue.clock.now();
        assert_eq!(taken(queue.take().await), Some(key("a")));
        assert_eq!(queue.clock.now() - start, second);
        assert_eq!(queue.held(0, hold), []);
    }
}

/// Takes every key that is queued, and hands it back: when each was taken, in milliseconds.
async fn take_all(queue: &WorkQueue, count: usize) -> Vec<u128> {
    let start = queue.clock.now();
    let mut taken = Vec::new();
    for _ in 0..count {
        let one = queue.take().await.unwrap();
        taken.push((queue.clock.now() - start).as_millis());
        queue.done(&one);
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn a_few_keys_that_asked_for_one_moment_run_at_that_moment() {
    let queue = queue();
    let day = Duration::from_secs(24 * 3600);
    for number in 0..10 {
        let delay = queue.requeue(key(&number.to_string()), day, 0.9, Priority::Normal);
        assert_eq!(delay, day);
    }
    assert_eq!(take_all(&queue, 10).await, [day.as_millis(); 10]);
}

#[tokio::test(start_paused = true)]
async fn many_keys_that_asked_for_one_moment_run_before_it_and_apart() {
    let (queue, rng) = (queue(), windlass_base::seams::Rng::seeded(1));
    let day = Duration::from_secs(24 * 3600);
    for number in 0..5_000 {
        let key = key(&number.to_string());
        queue.requeue(key, day, rng.fraction(), Priority::Normal);
    }
    let taken = take_all(&queue, 5_000).await;
    let last = day.as_millis();
    assert!(taken.iter().all(|at| *at <= last), "none is late");
    let first = taken.first().copied().unwrap();
    assert!(
        first >= last - last / 10,
        "nor earlier than by a tenth: {first}"
    );
    let busiest = taken.iter().filter(|at| **at >= last - 1_000).count();
    assert!(busiest < COUNTED, "{busiest} of 5000 in the last second");
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_back_what_is_ready() {
    let queue = queue();
    let start = queue.clock.now();
    queue.add(0, wakeup("a", WakeReason::Listed));
    queue.pause(Duration::from_secs(3));
    assert_eq!(taken(queue.take().await), Some(key("a")));
    assert_eq!(queue.clock.now() - start, Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn every_waiting_worker_hears_of_the_end() {
    let queue = queue();
    let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(queue.take())).collect();
    for worker in &mut waiting {
        assert!(worker.now_or_never().is_none());
    }
    queue.close();
    for worker in waiting {
        assert!(worker.await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_says_why_it_runs_and_of_many_reasons_the_first() {
    let queue = queue();
    queue.add(0, wakeup("a", WakeReason::Listed));
    queue.add(0, wakeup("a", WakeReason::Listed));
    queue.add(0, wakeup("a", WakeReason::Resync));
    for number in 0..100 {
        queue.add(
            0,
            wakeup(
                "a",
                WakeReason::Changed("Pod".into(), Key::new(None, &number.to_string())),
            ),
        );
    }
    let first = queue.take().await.unwrap();
    let reasons = &first.reasons;
    assert_eq!((reasons.count, reasons.first.len()), (103, REASONS));
    assert_eq!(reasons.first[..2], [WakeReason::Listed, WakeReason::Resync]);
    queue.add(0, wakeup("a", WakeReason::Swapped));
    queue.done(&first);
    assert_eq!(
        queue.take().await.unwrap().reasons.first,
        [WakeReason::Swapped]
    );
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_hands_out_nothing_of_what_is_in_it() {
    let queue = queue();
    queue.add(0, wakeup("a", WakeReason::Listed));
    queue.close();
    assert!(queue.take().await.is_none());
    assert_eq!(queue.load(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn objects_of_two_kinds_with_one_name_are_two_keys_of_one_queue() {
    let queue = queue();
    for kind in [0, 1, 0] {
        queue.add(kind, wakeup("a", WakeReason::Listed));
    }
    let first = queue.take().await.unwrap();
    let second = queue.take().await.unwrap();
    assert_eq!((first.key.kind, second.key.kind), (0, 1));
    assert_eq!(first.key.key, second.key.key);
    assert!(queue.take().now_or_never().is_none());
    queue.add(1, wakeup("a", WakeReason::Swapped));
    queue.done(&first);
    queue.done(&second);
    assert_eq!(queue.take().await.unwrap().key.kind, 1);
}
