//! A session: builds and applies the targets, follows them, and does what the keys ask for.

use std::path::Path;

use anyhow::bail;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::attach::Attachment;
use super::flags::DevFlags;
use super::follow::{Follower, State};
use super::keys::{Key, Keyboard};
use super::names::Names;
use super::news::News;
use super::settled::{busiest, settled};
use super::target::Target;
use super::tell::Teller;
use super::verdict::verdict;
use windlass_base::screen::Tone;
use windlass_base::seams::{ChildExit, Seams, Task};
use windlass_host::runtime::Wired;
use windlass_host::why::{Question, text};
use windlass_policy::source::Wanted;

/// A session: a host that runs, and what is needed to follow targets.
pub(super) struct Session {
    pub(super) wired: Wired,
    pub(super) teller: Teller,
    pub(super) names: Names,
    pub(super) folders: mpsc::Sender<Wanted>,
    pub(super) seams: Seams,
    pub(super) page: Option<String>,
    /// The API server is this program's own.
    pub(super) own_server: bool,
    /// Whether it takes the place of a plugin in a cluster.
    pub(super) attachment: Option<Attachment>,
}

impl Session {
    /// Builds and applies everything, and follows it.
    pub(super) async fn work(
        &self,
        flags: &DevFlags,
        targets: Vec<Target>,
        kubeconfig: Option<&Path>,
    ) -> anyhow::Result<()> {
        let (seams, began) = (&self.seams, self.seams.clock.now());
        let mut followers = Vec::new();
        let mut refused = false;
        for (number, target) in targets.into_iter().enumerate() {
            let mut follower = self.follower(number, target);
            if let Err(message) = follower.begin().await {
                if !flags.keep_going || flags.once {
                    bail!("{message}");
                }
                self.teller.print(&News::BuildFailed {
                    message,
                    runs_on: false,
                });
            }
            refused |= follower.was_refused();
            followers.push(follower);
        }
        let host = &self.wired.host;
        if flags.once {
            let rest = seams
                .clock
                .within(flags.timeout, settled(host, &self.names))
                .await;
            let busy = match rest {
                Some(_) => Vec::new(),
                None => busiest(host, &self.names),
            };
            return verdict(rest, refused, flags.timeout, &busy);
        }
        let mut tasks = Vec::new();
        for follower in followers {
            tasks.push(seams.spawn.task(follower.go_on()));
        }
        tasks.push(self.tell_when_ready(began, kubeconfig));
        self.keys().await;
        drop(tasks);
        Ok(())
    }

    /// Says, once everything is settled, how long that took since it `began`.
    fn tell_when_ready(&self, began: Instant, kubeconfig: Option<&Path>) -> Task {
        let (host, names, teller) = (&self.wired.host, &self.names, &self.teller);
        let (host, names, teller) = (host.clone(), names.clone(), teller.clone());
        let (clock, page) = (self.seams.clock, self.page.clone());
        let kubeconfig = kubeconfig.map(|path| path.display().to_string());
        self.seams.spawn.task(async move {
            let rest = settled(&host, &names).await;
            for line in &rest.endless {
                teller.hint(Tone::Warning, "Loop", line);
            }
            let took = clock.now() - began;
            teller.print(&News::Ready {
                took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                page,
                kubeconfig,
            });
        })
    }

    fn follower(&self, number: usize, target: Target) -> Follower {
        Follower {
            target,
            host: self.wired.host.clone(),
            teller: self.teller.clone(),
            names: self.names.clone(),
            folders: self.folders.clone(),
            number,
            own_server: self.own_server,
            attachment: self.attachment,
            state: State::default(),
        }
    }

    /// Does what the keys ask for, until one asks for the end.
    async fn keys(&self) {
        let Some(mut keyboard) = Keyboard::open() else {
            return std::future::pending().await;
        };
        let keys = "o open page, r reconcile all, w why, q quit";
        self.teller.hint(Tone::Good, "Keys", keys);
        // Without a terminal there is nobody to go on for.
        while let Some(key) = keyboard.next().await {
            match key {
                Key::Quit => return,
                Key::Again => self.again(),
                Key::Why => self.why().await,
                Key::Open => self.open().await,
            }
        }
    }

    fn again(&self) {
        for plugin in self.names.all() {
            for handle in self.wired.host.handles.of(&plugin) {
                handle.run_all();
            }
        }
    }

    async fn why(&self) {
        let Some(last) = self.teller.last() else {
            return self
                .teller
                .hint(Tone::Warning, "Why", "nothing was reconciled yet");
        };
        let question = Question {
            kind: last.kind,
            namespace: last.namespace,
            name: last.name,
        };
        let answer = self.wired.finder.find(&question).await;
        self.teller.hint(Tone::Good, "Why", &text(&answer));
    }

    async fn open(&self) {
        let Some(page) = &self.page else { return };
        let line = format!("(xdg-open {page} || open {page}) >/dev/null 2>&1");
        let here = Path::new(".");
        if !matches!(
            self.seams.spawn.shell(&line, here).await,
            Ok(ChildExit::Code(0))
        ) {
            let text = format!("no browser was found: open {page}");
            self.teller.hint(Tone::Warning, "Page", &text);
        }
    }
}
