//! What the proxy does to which requests, as values.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::state::RequestHead;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: the rule only counts.
    Pass,
    /// The host is killed before the API server sees the request.
    KillBefore,
    /// The host is killed after the API server has answered, before the host sees the answer.
    KillAfterApplied,
    /// The host is killed after it has read the whole answer. Not for watches, which have no end.
    KillAfterAnswer,
    /// The proxy answers with a `Status` object; the API server does not see the request.
    Status {
        /// The HTTP status, such as 429 or 500.
        code: u16,
        /// The seconds of the header `Retry-After`.
        retry_after: Option<u32>,
    },
    /// The proxy answers with this status and a page of HTML, as a load balancer does.
    Html(u16),
    /// The connection is cut after so many bytes of the API server's answer.
    CutBody(usize),
    /// The proxy answers 200 and a list that never ends.
    EndlessBody,
    /// The connection is cut; the API server does not see the request.
    Disconnect,
    /// The connection is cut after the API server has answered, before the host sees the answer.
    LoseAnswer,
    /// The request waits for [`FaultProxy::release`](super::FaultProxy::release).
    Hold,
    /// The API server's answer waits for [`FaultProxy::release`](super::FaultProxy::release).
    HoldAnswer,
    /// After so many events a watch is silent, unless
    /// [`FaultProxy::release`](super::FaultProxy::release) is or was called since it opened.
    HoldWatch(usize),
    /// After so many events the connection of a watch is cut.
    CutWatch(usize),
    /// After so many events a watch ends in good order, as the API server ends it after minutes.
    EndWatch(usize),
    /// The request waits this long.
    Delay(Duration),
}

impl Fault {
    /// Whether nothing else of the host may pass from this request on.
    pub(super) fn kills(self) -> bool {
        matches!(
            self,
            Self::KillBefore | Self::KillAfterApplied | Self::KillAfterAnswer
        )
    }
}

type Matcher = dyn Fn(&RequestHead) -> bool + Send + Sync;

/// A fault for some of the requests that match.
///
/// Every rule counts every request it matches. Of the rules that are due, the first one is applied.
#[derive(Clone)]
pub struct Rule {
    pub(super) name: String,
    matches: Arc<Matcher>,
    nth: usize,
    times: usize,
    pub(super) fault: Fault,
}

impl Rule {
    /// Applies `fault` to every request for which `matches` holds. The `name` is for
    /// [`FaultProxy::count`](super::FaultProxy::count) and the log.
    pub fn new(
        name: &str,
        matches: impl Fn(&RequestHead) -> bool + Send + Sync + 'static,
        fault: Fault,
    ) -> Self {
        let (matches, name) = (Arc::new(matches), name.to_owned());
        Self {
            name,
            matches,
            nth: 1,
            times: usize::MAX,
            fault,
        }
    }

    /// Counts the requests for which `matches` holds.
    pub fn counter(
        name: &str,
        matches: impl Fn(&RequestHead) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, matches, Fault::Pass)
    }

    /// Applies the fault to the `n`th match alone; the first is 1.
    #[must_use]
    pub fn nth(self, n: usize) -> Self {
        Self {
            nth: n,
            times: 1,
            ..self
        }
    }

    /// Applies the fault to so many matches in a row.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    pub(super) fn matches(&self, request: &RequestHead) -> bool {
        (self.matches)(request)
    }

    /// Whether the fault is for the `n`th match.
    pub(super) fn is_due(&self, n: usize) -> bool {
        n.checked_sub(self.nth)
            .is_some_and(|after| after < self.times)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            nth,
            times,
            fault,
            matches: _,
        } = self;
        write!(f, "Rule({name}: {fault:?} from match {nth}, {times} times)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_due_for_as_many_matches_as_it_says() {
        let rule = Rule::new("any", |_| true, Fault::Pass);
        let due = |rule: &Rule| (1..=6).filter(|&n| rule.is_due(n)).collect::<Vec<_>>();
        assert_eq!(due(&rule), [1, 2, 3, 4, 5, 6]);
        assert_eq!(due(&rule.clone().nth(3)), [3]);
        assert_eq!(due(&rule.clone().nth(3).times(2)), [3, 4]);
        assert_eq!(due(&rule.times(2)), [1, 2]);
    }
}
