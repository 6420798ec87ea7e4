//! The keyboard, key by key.

use std::io::{IsTerminal, stderr, stdin};

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::io::AsyncReadExt;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Open the page.
    Open,
    /// Reconcile everything.
    Again,
    /// Say why of the object that was reconciled last.
    Why,
    /// End.
    Quit,
}

/// A terminal that hands out each key as it is pressed. It is as it was when this is dropped.
pub(super) struct Keyboard(Termios);

impl Keyboard {
    /// Opens the keyboard; none where nobody sits: no terminal, or one that is somebody else's now.
    pub(super) fn open() -> Option<Self> {
        if !stdin().is_terminal() || !stderr().is_terminal() {
            return None;
        }
        // In the background the terminal would stop the process that changes it.
        if tcgetpgrp(stdin()).ok()? != getpgrp() {
            return None;
        }
        let before = tcgetattr(stdin()).ok()?;
        let mut by_key = before.clone();
        // Not raw: Ctrl-C stays a signal, and lines end as toolchains expect.
        by_key
            .local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &by_key).ok()?;
        Some(Self(before))
    }

    /// The next key that asks for something; none once the terminal is gone.
    pub(super) async fn next(&mut self) -> Option<Key> {
        let mut input = tokio::io::stdin();
        loop {
            if let Some(key) = meaning(input.read_u8().await.ok()?) {
                return Some(key);
            }
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

fn meaning(key: u8) -> Option<Key> {
    match key {
        b'o' => Some(Key::Open),
        b'r' => Some(Key::Again),
        b'w' => Some(Key::Why),
        // Ctrl-D, too.
        b'q' | 4 => Some(Key::Quit),
        _ => None,
    }
}
