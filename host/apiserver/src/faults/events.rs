//! Faults of a watch's stream, event by event and byte by byte.

use std::collections::VecDeque;
use std::io;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Value, json};

use super::Fault;
use crate::body::Body;
use crate::meta;
use crate::seams::Clock;

/// A watch's body with faults in it.
pub(super) fn spoiled(body: Body, faults: Vec<Fault>, clock: Clock) -> Body {
    let concerns = |fault: &Fault| {
        !matches!(
            fault,
            Fault::Refuse(_) | Fault::Late(_) | Fault::Stale(_) | Fault::Shuffled(_)
        )
    };
    if !faults.iter().any(concerns) {
        return body;
    }
    let state = Spoiler {
        chunks: body.chunks().boxed(),
        line: BytesMut::new(),
        ready: VecDeque::new(),
        held: Vec::new(),
        index: 0,
        sent: 0,
        over: false,
        faults,
        clock,
    };
    Body::stream(stream::unfold(state, async |mut state| {
        let chunk = state.next().await?;
        Some((chunk, state))
    }))
}

struct Spoiler {
    chunks: BoxStream<'static, io::Result<Bytes>>,
    /// What has come of the next line.
    line: BytesMut,
    ready: VecDeque<Bytes>,
    /// Events that come later: after how many others.
    held: Vec<(usize, Bytes)>,
    index: usize,
    sent: usize,
    over: bool,
    faults: Vec<Fault>,
    clock: Clock,
}

impl Spoiler {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(self.cut(line));
            }
            if self.over {
                return None;
            }
            let line = self.read_line().await;
            if self.silent() {
                return std::future::pending().await;
            }
            match line {
                Ok(Some(line)) => self.event(line).await,
                Ok(None) => return None,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Whether the connection is dead by now.
    fn silent(&self) -> bool {
        let dead = |fault: &Fault| matches!(fault, Fault::Silent(from) if self.index >= *from);
        self.faults.iter().any(dead)
    }

    async fn read_line(&mut self) -> io::Result<Option<Bytes>> {
        while !self.line.ends_with(b"\n") {
            match self.chunks.next().await {
                Some(chunk) => self.line.extend_from_slice(&chunk?),
                None => return Ok(None),
            }
        }
        Ok(Some(self.line.split().freeze()))
    }

    /// Does to one event what the faults say.
    async fn event(&mut self, line: Bytes) {
        let bookmark = line.starts_with(b"{\"type\":\"BOOKMARK\"");
        let index = self.index;
        self.index += usize::from(!bookmark);
        let mut copies = 1;
        for fault in self.faults.clone() {
            match fault {
                Fault::NoBookmarks if bookmark => return,
                _ if bookmark => {}
                Fault::Slow(duration) => self.clock.sleep(duration).await,
                Fault::Lost(lost) if lost == index => copies = 0,
                Fault::Doubled(doubled) if doubled == index => copies = 2,
                Fault::Postponed { event, by } if event == index => {
                    self.held.push((by, line.clone()));
                    copies = 0;
                }
                // The next event of the object says all that this one says, and more.
                Fault::Merged(merged) if merged == index => {
                    self.held.push((usize::MAX, line.clone()));
                    copies = 0;
                }
                Fault::Error { event, status } if event == index => {
                    self.ready.push_back(error(status));
                    self.over = true;
                    return;
                }
                _ => {}
            }
        }
        if copies > 0 {
            let line = self.merge(line);
            self.ready.extend(std::iter::repeat_n(line, copies));
            self.release();
        }
    }

    /// An event that follows on a held back one of the same object stands for both.
    fn merge(&mut self, line: Bytes) -> Bytes {
        let (kind, uid) = about(&line);
        let same = |held: &(usize, Bytes)| held.0 == usize::MAX && about(&held.1).1 == uid;
        let Some(position) = self.held.iter().position(same) else {
            return line;
        };
        let (_, first) = self.held.remove(position);
        // What was added and then changed is added; what was changed and then deleted is deleted.
        if about(&first).0 == "ADDED" && kind == "MODIFIED" {
            let mut event: Value = serde_json::from_slice(&line).unwrap_or_default();
            meta::put(&mut event, "type", "ADDED");
            return format!("{event}\n").into();
        }
        line
    }

    /// One more event has gone out: those that waited for it follow.
    fn release(&mut self) {
        for (by, _) in &mut self.held {
            if *by != usize::MAX {
                *by = by.saturating_sub(1);
            }
        }
        let held = std::mem::take(&mut self.held);
        let (due, held): (Vec<_>, Vec<_>) = held.into_iter().partition(|(by, _)| *by == 0);
        self.held = held;
        self.ready.extend(due.into_iter().map(|(_, line)| line));
    }

    /// Ends the stream in the middle of a line, if so many bytes have gone out.
    fn cut(&mut self, line: Bytes) -> io::Result<Bytes> {
        let cut = self.faults.iter().find_map(|fault| match fault {
            Fault::Cut(after) => Some(*after),
            _ => None,
        });
        let Some(after) = cut else {
            return Ok(line);
        };
        let left = after.saturating_sub(self.sent);
        self.sent += line.len();
        if line.len() <= left {
            return Ok(line);
        }
        self.over = true;
        self.ready.clear();
        if left == 0 {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(line.slice(..left))
    }
}

/// The type of an event, and whose it is.
fn about(line: &Bytes) -> (String, String) {
    let event: Value = serde_json::from_slice(line).unwrap_or_default();
    let text = |at: &str| {
        event
            .pointer(at)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    (text("/type"), text("/object/metadata/uid"))
}

fn error(status: u16) -> Bytes {
    let reason = if status == 410 {
        "Expired"
    } else {
        "InternalError"
    };
    let object = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "this fault was made on purpose",
        "reason": reason,
        "code": status,
    });
    format!("{}\n", json!({ "type": "ERROR", "object": object })).into()
}
