//! How many items are carried out at a time: one, then two, four and so on.

use std::iter::{Peekable, from_fn};

/// The most items of a batch.
const MOST: usize = 32;

/// The most bytes of a batch of more than one item: as trees, they take many times as much.
const BYTES: usize = 256 << 10;

/// The size of the batch after one of `size` items; `size` is 0 before the first. Each item makes a request, and the call
/// may make `requests` more. If it may make none, the first item says so.
pub(super) fn next(size: usize, requests: u32) -> usize {
    let requests = usize::try_from(requests).unwrap_or(usize::MAX);
    let doubled = size.saturating_mul(2).clamp(1, MOST);
    doubled.min(requests).max(1)
}

/// Takes a batch of at most `size` of the items: fewer if they are large, and at least one.
pub(super) fn take<T>(
    items: &mut Peekable<impl Iterator<Item = T>>,
    size: usize,
    bytes: impl Fn(&T) -> usize,
) -> impl Iterator<Item = T> {
    let (mut count, mut taken) = (0, 0);
    from_fn(move || {
        let more = items.peek().map(&bytes)?;
        if count == size || (count > 0 && taken + more > BYTES) {
            return None;
        }
        (count, taken) = (count + 1, taken + more);
        items.next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_double_within_the_requests_that_are_left() {
        // (the size before, the requests left; the size)
        let rows = [
            (0, 1000, 1),
            (1, 1000, 2),
            (2, 1000, 4),
            (16, 1000, 32),
            (32, 1000, 32),
            (usize::MAX, 1000, 32),
            (4, 5, 5),
            (32, 1, 1),
            (0, 0, 1),
            (8, 0, 1),
        ];
        for (before, requests, want) in rows {
            assert_eq!(next(before, requests), want, "{before} {requests}");
        }
    }

    #[test]
    fn a_batch_of_large_items_is_small() {
        const K: usize = 1 << 10;
        // (the size, the items; how many are taken)
        let rows: [(usize, &[usize], usize); 6] = [
            (4, &[K, K], 2),
            (2, &[K, K, K], 2),
            (4, &[512 * K, K], 1),
            (4, &[K, 512 * K], 1),
            (4, &[128 * K, 128 * K, K], 2),
            (4, &[], 0),
        ];
        for (size, items, want) in rows {
            let mut left = items.iter().peekable();
            let taken = take(&mut left, size, |bytes| **bytes).count();
            assert_eq!(
                (taken, left.count()),
                (want, items.len() - want),
                "{items:?}"
            );
        }
    }
}
