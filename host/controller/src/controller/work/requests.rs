//! How often users may have a key run by an annotation: each such pass goes past the delays of hot loops and of expensive
//! passes, and anyone who may annotate the object can ask for it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::QueueKey;
use windlass_base::flowcontrol::{Rate, TokenBucket};

/// Three at once, and then one each ten seconds.
const RATE: Rate = Rate {
    per_second: 0.1,
    burst: 3.0,
};

/// The queue remembers so many keys. Then it forgets the keys that no user has asked for in the last 30 seconds.
const REMEMBERED: usize = 1000;

/// The requests for each key.
#[derive(Debug, Default)]
pub(super) struct Requests(BTreeMap<QueueKey, TokenBucket>);

impl Requests {
    /// How long a request for `key` waits; nothing if the key may run now.
    pub(super) fn wait(&mut self, key: &QueueKey, now: Instant) -> Option<Duration> {
        if self.0.len() >= REMEMBERED {
            self.0.retain(|_, bucket| {
                bucket.refill(RATE, now);
                !bucket.is_full(RATE)
            });
        }
        let full = || TokenBucket::full(RATE, now);
        let bucket = self.0.entry(key.clone()).or_insert_with(full);
        (!bucket.take(RATE, 1.0, now)).then(|| bucket.wait(RATE, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::seams::Clock;
    use windlass_kube::object::Key;

    fn key(name: &str) -> QueueKey {
        QueueKey {
            kind: 0,
            key: Key::new(Some("default"), name),
        }
    }

    #[test]
    fn requests_for_a_key_have_a_limit_over_time_and_wait_for_it() {
        let (mut requests, now) = (Requests::default(), Clock::system().now());
        let at = |seconds| now + Duration::from_secs(seconds);
        for _ in 0..3 {
            assert_eq!(requests.wait(&key("ada"), now), None);
        }
        let seconds = |wait: Option<Duration>| wait.map(|wait| wait.as_secs_f64().round());
        assert_eq!(seconds(requests.wait(&key("ada"), now)), Some(10.0));
        assert_eq!(seconds(requests.wait(&key("ada"), at(4))), Some(6.0));
        assert_eq!(requests.wait(&key("bea"), at(4)), None);
        assert_eq!(requests.wait(&key("ada"), at(10)), None);
        for number in 0..REMEMBERED {
            requests.wait(&key(&number.to_string()), at(20));
        }
        requests.wait(&key("last"), at(60));
        assert_eq!(requests.0.len(), 1);
    }
}
