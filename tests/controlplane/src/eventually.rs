//! Waits for a condition, with a deadline.

use std::time::Duration;

use anyhow::{anyhow, bail};
use tokio::time::Instant;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks until `look` answers `Some`, and returns what it found.
///
/// An error of `look` means "not yet": it is only shown if the deadline passes. This is the one place
/// where tests poll.
///
/// # Errors
/// If `deadline` passes; the message names `what` and the last error.
pub async fn eventually<T>(
    deadline: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let until = Instant::now() + deadline;
    loop {
        let outcome = tokio::time::timeout_at(until, look()).await;
        let problem = match outcome {
            Ok(Ok(Some(found))) => return Ok(found),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(anyhow!("the last look did not end")),
        };
        if Instant::now() + PAUSE >= until {
            match problem {
                Some(error) => {
                    return Err(error.context(format!("not within {deadline:?}: {what}")));
                }
                None => bail!("not within {deadline:?}: {what}"),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn looks_until_there_is_something_and_forgives_errors_before() {
        let mut looks = 0;
        let found = eventually(Duration::from_secs(10), "three looks", async || {
            looks += 1;
            match looks {
                1 => Err(anyhow!("too early")),
                2 => Ok(None),
                n => Ok(Some(n)),
            }
        });
        assert_eq!(found.await.unwrap(), 3);
    }

    #[tokio::test]
    async fn a_deadline_names_what_was_waited_for_and_the_last_error() {
        let never = eventually::<()>(Duration::from_millis(50), "pigs to fly", async || {
            Err(anyhow!("no wings"))
        });
        let message = format!("{:#}", never.await.unwrap_err());
        assert!(
            message.contains("pigs to fly") && message.contains("no wings"),
            "{message}"
        );
    }
}
