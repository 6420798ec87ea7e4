//! Whose turn it is to run on a guest thread: as many turns as threads, dealt fairly over plugins.
//!
//! - A call holds a turn only while it can run; one that waits for the API server holds none.
//! - Whose slice has ended keeps its turn until it would run again, and then passes it on. As many calls as
//!   there are turns are ready to run, and all others wait here: their threads could not tell plugins apart.
//! - Plugins that wait get turns one after the other, however many calls each has waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Deals turns. Clones share them.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    /// Plugins with waiting calls, the next one first; each is in it once.
    order: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<oneshot::Sender<Turn>>>,
}

/// The right to run. Dropping it hands it to the next.
#[derive(Debug)]
pub struct Turn(Option<Turns>);

impl Turns {
    /// `count` turns.
    pub fn new(count: usize) -> Self {
        let state = State {
            free: count.max(1),
            order: VecDeque::new(),
            waiting: HashMap::new(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits for a turn for a call of `plugin`.
    pub async fn take(&self, plugin: Arc<str>) -> Turn {
        loop {
            let turn = {
                let mut state = self.state();
                if state.free > 0 {
                    state.free -= 1;
                    return Turn(Some(self.clone()));
                }
                state.queue(&plugin)
            };
            if let Ok(turn) = turn.await {
                return turn;
            }
        }
    }

    /// Hands `turn` of a call of `plugin` to whoever is next, and waits for another one.
    pub async fn pass_on(&self, turn: Turn, plugin: Arc<str>) -> Turn {
        let place = self.state().queue(&plugin);
        drop(turn);
        match place.await {
            Ok(turn) => turn,
            Err(_) => self.take(plugin).await,
        }
    }

    fn hand_on(&self) {
        loop {
            let next = self.state().next();
            let Some(next) = next else { return };
            match next.send(Turn(Some(self.clone()))) {
                Ok(()) => return,
                // It does not wait any more: the turn goes to the one after.
                Err(mut turn) => turn.0 = None,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn queue(&mut self, plugin: &Arc<str>) -> oneshot::Receiver<Turn> {
        let (sender, receiver) = oneshot::channel();
        let calls = self.waiting.entry(plugin.clone()).or_default();
        if calls.is_empty() {
            self.order.push_back(plugin.clone());
        }
        calls.push_back(sender);
        receiver
    }

    /// The call that is next, or one more free turn.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        while let Some(plugin) = self.order.pop_front() {
            let Some(calls) = self.waiting.get_mut(&plugin) else {
                continue;
            };
            let call = calls.pop_front();
            if calls.is_empty() {
                self.waiting.remove(&plugin);
            } else {
                self.order.push_back(plugin);
            }
            if call.is_some() {
                return call;
            }
        }
        self.free += 1;
        None
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.hand_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn plugins_take_turns_however_many_calls_each_has() {
        let turns = Turns::new(1);
        let mut held = turns.take("busy".into()).await;
        let mut waiting: Vec<_> = ["busy", "busy", "busy", "calm", "calm"]
            .map(|name| (name, Box::pin(turns.take(name.into()))))
            .into();
        for (_, wait) in &mut waiting {
            assert!(wait.now_or_never().is_none());
        }
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(std::mem::replace(&mut held, Turn(None)));
            let mut winner = None;
            for (index, (_, wait)) in waiting.iter_mut().enumerate() {
                if let Some(turn) = wait.now_or_never() {
                    winner = Some((index, turn));
                    break;
                }
            }
            let (index, turn) = winner.expect("somebody's turn");
            order.push(waiting.remove(index).0);
            held = turn;
        }
        assert_eq!(order, ["busy", "calm", "busy", "calm", "busy"]);
    }

    #[tokio::test]
    async fn a_turn_is_not_lost_with_a_call_that_stopped_waiting() {
        let turns = Turns::new(1);
        let held = turns.take("a".into()).await;
        let mut gone = Box::pin(turns.take("b".into()));
        assert!((&mut gone).now_or_never().is_none());
        drop(gone);
        drop(held);
        assert!(turns.take("c".into()).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_turn_that_was_dealt_but_never_taken_up_goes_on() {
        let turns = Turns::new(1);
        let held = turns.take("a".into()).await;
        let mut dealt = Box::pin(turns.take("b".into()));
        assert!((&mut dealt).now_or_never().is_none());
        drop(held);
        drop(dealt);
        assert!(turns.take("c".into()).now_or_never().is_some());
    }
}
