//! Bytes of an account, for as long as somebody holds them.

use std::sync::atomic::Ordering;

use super::account::{Account, Exceeded};

/// Bytes of an account. Dropping it gives them back.
#[derive(Debug)]
pub struct Charge {
    account: Account,
    bytes: usize,
    /// It ends with a call.
    passes: bool,
}

impl Charge {
    pub(super) fn new(account: &Account, passes: bool) -> Self {
        Self {
            account: account.clone(),
            bytes: 0,
            passes,
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the account would have too little room for calls with so many bytes instead, or the host's budget is
    /// overdrawn. A charge that stays after a call asks.
    pub fn is_short_at(&self, bytes: usize) -> bool {
        let inner = &*self.account.0;
        let passing = inner.passing.load(Ordering::Relaxed);
        let others = self.account.used().saturating_sub(self.bytes);
        let stays = others.saturating_sub(passing).saturating_add(bytes);
        is_short(stays, passing, inner.soft.load(Ordering::Relaxed)) || inner.budget.is_overdrawn()
    }

    /// So many more.
    ///
    /// # Errors
    /// The limit that does not allow it. Nothing has changed then.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.account.add(bytes)?;
        self.becomes(self.bytes + bytes);
        Ok(())
    }

    /// It is so many bytes now, whatever the limits.
    pub fn set(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(more) if more > 0 => self.account.force(more),
            Some(_) => {}
            None => self.account.give_back(self.bytes - bytes),
        }
        self.becomes(bytes);
    }

    fn becomes(&mut self, bytes: usize) {
        if self.passes {
            let passing = &self.account.0.passing;
            passing.fetch_add(bytes, Ordering::Relaxed);
            passing.fetch_sub(self.bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Whether what `stays` after calls leaves too little of `soft` for calls: less than what they use now, or less than a
/// quarter.
fn is_short(stays: usize, passing: usize, soft: usize) -> bool {
    stays.saturating_add(passing.max(soft / 4)) > soft
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Bounds, Budget};

    const MIB: usize = 1 << 20;

    #[test]
    fn an_account_is_short_when_calls_have_less_than_they_use_or_less_than_a_quarter() {
        // (what stays, what calls use now, the soft limit)
        let rows = [
            ((0, 0, 64), false),
            ((48, 0, 64), false),
            ((49, 0, 64), true),
            ((63, 0, 64), true),
            ((48, 16, 64), false),
            ((48, 17, 64), true),
            ((30, 34, 64), false),
            ((31, 34, 64), true),
            ((1 << 40, 1 << 40, usize::MAX), false),
        ];
        for ((stays, passing, soft), want) in rows {
            assert_eq!(
                is_short(stays, passing, soft),
                want,
                "{stays} {passing} {soft}"
            );
        }
    }

    #[test]
    fn what_calls_use_is_what_the_room_is_for() {
        let (soft, hard) = (64 * MIB, 96 * MIB);
        let account = Account::new(Budget::new(usize::MAX), Bounds { soft, hard });
        let mut share = account.charge();
        assert!(share.is_short_at(63 * MIB));
        share.set(48 * MIB);
        assert!(!share.is_short_at(48 * MIB));
        let calls = [account.take(8 * MIB), account.take(8 * MIB)];
        assert!(calls.iter().all(Result::is_ok));
        assert!(!share.is_short_at(48 * MIB), "they count once");
        assert_eq!(account.used(), 64 * MIB);
        drop((calls, share));
        let passing = account.0.passing.load(Ordering::Relaxed);
        assert_eq!((account.used(), passing), (0, 0));
    }
}
