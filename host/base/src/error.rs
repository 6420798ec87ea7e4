//! Prints an error with its causes, each once.

use std::error::Error;
use std::fmt;

/// Shows an error and everything behind it: `cannot do this: because of that: and that`.
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.0.to_string();
        write!(out, "{last}")?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some libraries repeat the cause in their own message.
            if !last.contains(&text) {
                write!(out, ": {text}")?;
                last = text;
            }
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{message}")]
    struct Step {
        message: &'static str,
        source: Option<Box<Step>>,
    }

    #[test]
    fn causes_follow_and_none_is_said_twice() {
        let inner = Step {
            message: "connection refused",
            source: None,
        };
        let middle = Step {
            message: "sending: connection refused",
            source: Some(Box::new(inner)),
        };
        let outer = Step {
            message: "cannot list pods",
            source: Some(Box::new(middle)),
        };
        assert_eq!(
            Chain(&outer).to_string(),
            "cannot list pods: sending: connection refused"
        );
    }
}
