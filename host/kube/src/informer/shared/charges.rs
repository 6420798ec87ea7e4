//! What each subscriber of a store pays for it.
//!
//! - All pay the same, as long as nobody's account is short of room.
//! - Otherwise nobody pays more than what it would pay alone, with its own fields; those who read more pay the rest.
//!   What somebody would pay alone is told from the text of all objects, and only looked at again when the store has
//!   become much larger or smaller.

use std::sync::Arc;

use super::subscribers::Subscriber;
use crate::informer::store::Store;
use crate::object::Fields;
use windlass_base::memory::{Account, Charge};

/// By this part the weight of a store changes before it is looked at again what somebody reads of it.
const PART: usize = 8;

/// The share of one subscriber.
pub(super) struct SubscriberShare {
    charge: Charge,
    /// What it would pay alone, and the weight of the store at which that was looked at.
    alone: Option<(usize, usize)>,
}

impl SubscriberShare {
    /// Nothing yet.
    pub(super) fn on(account: &Account) -> Self {
        Self {
            charge: account.charge(),
            alone: None,
        }
    }

    /// What it would pay for `store` if it had it for itself, at most.
    fn alone(&mut self, fields: &Fields, store: &Store) -> usize {
        let weight = store.weight();
        if let Some((alone, of)) = self.alone
            && of.abs_diff(weight) <= of / PART
        {
            return alone;
        }
        let alone = store.weight_of(fields);
        self.alone = Some((alone, weight));
        alone
    }
}

/// Charges each subscriber for its share of `store`.
pub(super) fn share_out(store: &Store, subscribers: &[Arc<Subscriber>]) {
    let weight = store.weight();
    let same = weight / subscribers.len().max(1);
    // Also who reads all that a list keeps now: what others read is still there until the list is complete.
    let is_short = subscribers
        .iter()
        .any(|one| !one.fields.is_all() && one.share.lock().charge.is_short_at(same));
    let most = subscribers.iter().map(|one| {
        if !is_short {
            same
        } else if one.fields.is_all() {
            weight
        } else {
            one.share.lock().alone(&one.fields, store)
        }
    });
    let shares = shares(weight, most.collect());
    for (one, bytes) in subscribers.iter().zip(shares) {
        one.share.lock().charge.set(bytes);
    }
}

/// The shares of `weight` of those who pay at most so much each: what one does not pay is shared by the others.
fn shares(weight: usize, most: Vec<usize>) -> Vec<usize> {
    let mut order: Vec<(usize, usize)> = most.into_iter().zip(0..).collect();
    order.sort_unstable();
    let (mut left, mut payers) = (weight, order.len());
    let mut shares: Vec<(usize, usize)> = order
        .into_iter()
        .map(|(most, at)| {
            let share = most.min(left / payers.max(1));
            (left, payers) = (left - share, payers - 1);
            (at, share)
        })
        .collect();
    shares.sort_unstable();
    shares.into_iter().map(|(_, share)| share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_pays_more_than_alone_and_the_others_pay_the_rest() {
        let rows: [(usize, &[usize], &[usize]); 7] = [
            (90, &[], &[]),
            (90, &[90], &[90]),
            (90, &[90, 90, 90], &[30, 30, 30]),
            (90, &[90, 10], &[80, 10]),
            (90, &[5, 90, 10, 90], &[5, 37, 10, 38]),
            (90, &[30, 30, 30], &[30, 30, 30]),
            // A list that keeps less has not come yet: nobody reads all that is still there.
            (90, &[10, 20], &[10, 20]),
        ];
        for (weight, most, want) in rows {
            assert_eq!(shares(weight, most.to_vec()), want, "{weight} {most:?}");
        }
    }
}
