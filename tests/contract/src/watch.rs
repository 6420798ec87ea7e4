//! A watch that stays open while a scenario goes on.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::Either;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::scenario::Enough;

/// How long events may keep a scenario waiting.
const DEADLINE: Duration = Duration::from_secs(20);

/// An open watch, with what came and was not yet taken.
#[derive(Debug)]
pub(crate) struct Watch {
    body: Option<Body>,
    buffer: Vec<u8>,
}

impl Watch {
    pub(crate) fn new(body: Body) -> Self {
        Self {
            body: Some(body),
            buffer: Vec::new(),
        }
    }

    /// Takes events until there are enough. Nobody knows when the server sends a bookmark of its own
    /// accord, so those that are not waited for are left out. Each comes with its text.
    ///
    /// # Errors
    /// They do not come in time; the error has what came.
    pub(crate) async fn take(&mut self, until: Enough) -> Result<Vec<(Value, Vec<u8>)>> {
        let deadline = Instant::now() + DEADLINE;
        let mut events = Vec::new();
        loop {
            let enough = match until {
                Enough::Count(count) => events.len() >= count,
                Enough::Bookmark => { events.last() }.is_some_and(|(event, _)| is_bookmark(event)),
                Enough::Closed => false,
            };
            if enough {
                return Ok(events);
            }
            match timeout_at(deadline, self.line()).await {
                Ok(line) => match line? {
                    Either::Left(line) => {
                        let event: Value = serde_json::from_slice(&line)?;
                        if until == Enough::Bookmark || !is_bookmark(&event) {
                            events.push((event, line));
                        }
                    }
                    Either::Right(()) if until == Enough::Closed => return Ok(events),
                    Either::Right(()) => bail!("closed after {}", shown(&events)),
                },
                Err(_) => bail!("waited in vain after {}", shown(&events)),
            }
        }
    }

    /// The next line, or the end.
    async fn line(&mut self) -> Result<Either<Vec<u8>, ()>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                return Ok(Either::Left(line));
            }
            let Some(body) = &mut self.body else {
                return Ok(Either::Right(()));
            };
            match body.frame().await {
                Some(frame) => {
                    if let Some(data) = frame.context("the watch broke")?.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
                None => self.body = None,
            }
        }
    }
}

fn is_bookmark(event: &Value) -> bool {
    event.get("type").is_some_and(|kind| kind == "BOOKMARK")
}

fn shown(events: &[(Value, Vec<u8>)]) -> String {
    let events: Vec<String> = { events.iter() }
        .map(|(event, _)| event.to_string())
        .collect();
    format!("{} events: {}", events.len(), events.join("\n"))
}
