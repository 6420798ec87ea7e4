//! Calls for many objects: the same single call for each, in the batches of the host.

use crate::failed::{Code, Error};

/// Objects of a call at most.
const MOST: usize = 1_000;

/// The largest batch.
const BATCH: usize = 32;

/// Carries out `single` for each of `given`, up to the end of the batch in which one failed with an error that `stops` it.
/// `doing` names the call that was not carried out if there are too many.
pub(super) fn in_batches<T, A>(
    given: &[T],
    doing: &str,
    single: impl Fn(&T) -> Result<A, Error>,
    stops: impl Fn(&Error) -> bool,
) -> Vec<Result<A, Error>> {
    if given.len() > MOST {
        let code = Code::Invalid(format!("{MOST} objects are the most"));
        return vec![Err(Error::new(doing, code))];
    }
    let (mut answers, mut left, mut size) = (Vec::new(), given, 1);
    while !left.is_empty() {
        let (batch, rest) = left.split_at(size.min(left.len()));
        let tried: Vec<_> = batch.iter().map(&single).collect();
        let stopped = tried
            .iter()
            .any(|answer| answer.as_ref().is_err_and(&stops));
        answers.extend(tried);
        if stopped {
            break;
        }
        (left, size) = (rest, (size * 2).min(BATCH));
    }
    answers
}
