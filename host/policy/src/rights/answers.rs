//! What the API server has said about rights, and how long that counts: pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync;
use tokio::time::Instant;

use super::{Right, Verdict};
use windlass_kube::api::ServiceAccount;

/// So long a yes counts: after that the account may have lost the right.
pub(super) const YES: Duration = Duration::from_secs(60);
/// So long a no counts: the person who gives the right waits for it.
pub(super) const NO: Duration = Duration::from_secs(10);
/// So long a yes counts at most, if there is no other answer.
pub(super) const KEPT: Duration = Duration::from_secs(300);
/// So long nobody asks again after there was no answer.
pub(super) const PAUSE: Duration = Duration::from_secs(5);

/// So many rights of one account are known at most: a plugin chooses what it asks for.
const MOST: usize = 1_000;

/// What is known of the rights of all accounts.
#[derive(Default)]
pub(super) struct Answers(BTreeMap<ServiceAccount, BTreeMap<Right, Known>>);

/// What is known of one right.
struct Known {
    /// The last answer, and when it came.
    answer: Option<(bool, Instant)>,
    /// Since when there is no answer, and why.
    failed: Option<(Instant, String)>,
    /// When somebody wanted to know it last.
    wanted: Instant,
    /// Held by who asks.
    asking: Arc<sync::Mutex<()>>,
}

/// What is to be done to know a right.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Nothing.
    Known(Verdict),
    /// The API server is asked.
    Ask,
}

impl Known {
    fn judge(&self, now: Instant) -> Judgement {
        match self.answer {
            Some((true, at)) if now - at < YES => Judgement::Known(Verdict::Allowed),
            Some((false, at)) if now - at < NO => Judgement::Known(Verdict::Denied),
            _ => match &self.failed {
                Some((at, why)) if now - *at < PAUSE => Judgement::Known(self.without(why, now)),
                _ => Judgement::Ask,
            },
        }
    }

    /// What counts while there is no answer.
    fn without(&self, why: &str, now: Instant) -> Verdict {
        match self.answer {
            Some((true, at)) if now - at < KEPT => Verdict::Allowed,
            Some((false, _)) => Verdict::Denied,
            Some((true, _)) | None => Verdict::Unknown(why.to_owned()),
        }
    }

    /// Whether it may be forgotten: nobody has asked for it for long, or is asking.
    fn is_old(&self, now: Instant) -> bool {
        now - self.wanted >= KEPT && Arc::strong_count(&self.asking) == 1
    }
}

impl Answers {
    pub(super) fn judge(
        &mut self,
        account: &ServiceAccount,
        right: &Right,
        now: Instant,
    ) -> Judgement {
        let known = self.0.get_mut(account).and_then(|it| it.get_mut(right));
        let Some(known) = known else {
            return Judgement::Ask;
        };
        known.wanted = now;
        known.judge(now)
    }

    /// What is held by who asks for this right.
    pub(super) fn asking(
        &mut self,
        account: &ServiceAccount,
        right: &Right,
        now: Instant,
    ) -> Arc<sync::Mutex<()>> {
        self.known(account, right, now).asking.clone()
    }

    /// Notes what came of asking, and says what counts now.
    pub(super) fn answered(
        &mut self,
        account: &ServiceAccount,
        right: &Right,
        asked: Result<bool, String>,
        now: Instant,
    ) -> Verdict {
        let known = self.known(account, right, now);
        match asked {
            Ok(allowed) => {
                known.answer = Some((allowed, now));
                known.failed = None;
                if allowed {
                    Verdict::Allowed
                } else {
                    Verdict::Denied
                }
            }
            Err(why) => {
                let verdict = known.without(&why, now);
                known.failed = Some((now, why));
                verdict
            }
        }
    }

    fn known(&mut self, account: &ServiceAccount, right: &Right, now: Instant) -> &mut Known {
        if !self.0.contains_key(account) {
            // An account that no plugin has any more.
            self.0
                .retain(|_, rights| !rights.values().all(|it| it.is_old(now)));
        }
        let rights = self.0.entry(account.clone()).or_default();
        if rights.len() >= MOST && !rights.contains_key(right) {
            rights.retain(|_, it| !it.is_old(now));
            if rights.len() >= MOST {
                let oldest = rights.iter().min_by_key(|(_, it)| it.wanted);
                if let Some(oldest) = oldest.map(|(right, _)| right.clone()) {
                    rights.remove(&oldest);
                }
            }
        }
        let known = rights.entry(right.clone()).or_insert_with(|| Known {
            answer: None,
            failed: None,
            wanted: now,
            asking: Arc::default(),
        });
        known.wanted = now;
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::seams::Clock;
    use windlass_kube::api::Resource;

    fn right(namespace: &str) -> Right {
        let resource = Resource {
            group: String::new(),
            version: "v1".into(),
            kind: "Secret".into(),
            plural: "secrets".into(),
            namespaced: true,
        };
        Right::to("get", &resource, Some(namespace))
    }

    fn account() -> ServiceAccount {
        ServiceAccount::new("apps", "greeter").unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_for_a_while_and_the_last_one_longer_if_there_is_none() {
        let start = Clock::system().now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let why = || "away".to_owned();
        let (yes, no, none) = (Ok(true), Ok(false), Err(why()));
        let known = Judgement::Known;
        let unknown = || Verdict::Unknown(why());
        // (what came of asking, and when; what is asked for then: when, what is done)
        type Asked = (Result<bool, String>, u64);
        let rows: [(&[Asked], u64, Judgement); 13] = [
            (&[], 0, Judgement::Ask),
            (&[(yes.clone(), 0)], 59, known(Verdict::Allowed)),
            (&[(yes.clone(), 0)], 60, Judgement::Ask),
            (&[(no.clone(), 0)], 9, known(Verdict::Denied)),
            (&[(no.clone(), 0)], 10, Judgement::Ask),
            (&[(none.clone(), 0)], 4, known(unknown())),
            (&[(none.clone(), 0)], 5, Judgement::Ask),
            (
                &[(yes.clone(), 0), (none.clone(), 60)],
                64,
                known(Verdict::Allowed),
            ),
            (&[(yes.clone(), 0), (none.clone(), 60)], 65, Judgement::Ask),
            (
                &[(yes.clone(), 0), (none.clone(), 296)],
                299,
                known(Verdict::Allowed),
            ),
            (
                &[(yes.clone(), 0), (none.clone(), 296)],
                300,
                known(unknown()),
            ),
            (
                &[(no.clone(), 0), (none.clone(), 10)],
                14,
                known(Verdict::Denied),
            ),
            (
                &[(yes.clone(), 0), (no.clone(), 60), (yes.clone(), 70)],
                129,
                known(Verdict::Allowed),
            ),
        ];
        for (asked, when, want) in rows {
            let (account, right) = (account(), right("a"));
            let mut answers = Answers::default();
            for (answer, seconds) in asked {
                answers.answered(&account, &right, answer.clone(), at(*seconds));
            }
            let judged = answers.judge(&account, &right, at(when));
            assert_eq!(judged, want, "{asked:?} {when}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn rights_are_those_of_one_account_in_one_place() {
        let now = Clock::system().now();
        let (account, right) = (account(), right("a"));
        let mut answers = Answers::default();
        answers.answered(&account, &right, Ok(true), now);
        let other = ServiceAccount::new("apps", "other").unwrap();
        assert_eq!(answers.judge(&other, &right, now), Judgement::Ask);
        let elsewhere = super::tests::right("b");
        assert_eq!(answers.judge(&account, &elsewhere, now), Judgement::Ask);
    }

    #[tokio::test(start_paused = true)]
    async fn not_more_than_so_many_are_known_and_those_that_were_wanted_last_stay() {
        let start = Clock::system().now();
        let account = account();
        let mut answers = Answers::default();
        answers.answered(&account, &right("kept"), Ok(true), start);
        for number in 0..2 * MOST {
            let now = start + Duration::from_millis(u64::try_from(number).unwrap());
            let right = right(&format!("n{number}"));
            answers.answered(&account, &right, Ok(false), now);
            let kept = answers.judge(&account, &super::tests::right("kept"), now);
            assert_eq!(kept, Judgement::Known(Verdict::Allowed));
        }
        assert_eq!(answers.0[&account].len(), MOST);
        // Nobody asks for this account any more: another one takes its place.
        let other = ServiceAccount::new("apps", "other").unwrap();
        answers.answered(&other, &right("a"), Ok(true), start + 2 * KEPT);
        assert_eq!(answers.0.keys().collect::<Vec<_>>(), [&other]);
    }
}
