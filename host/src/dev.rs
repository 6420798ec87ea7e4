//! `windlass dev`: a plugin at work while it is written, without a cluster.
//!
//! ```text
//! files ─> follow ─> make ─> version ─┐
//!             └> objects ─> server <──┴─ host ─> passes ─> news ─> terminal
//! ```
//! - The host is the one of `windlass run`, and the server that of `windlass apiserver`: what works here works
//!   there.
//! - Nothing that is wrong ends it but the first build: the last good version runs on.

pub(crate) mod apply;
mod follow;
mod grant;
pub(crate) mod inputs;
mod keys;
mod names;
mod news;
mod objects;
mod plugins;
mod render;
mod settled;
pub(crate) mod target;
mod tell;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::sync::{mpsc, watch};

use crate::admin::folder::{self, Written};
use crate::admin::{self, BindAddress, Ports};
use crate::apiserver::Embedded;
use crate::args::{Cluster, Dev};
use crate::connect::connect;
use crate::hosting::Quarantine;
use crate::lease::Times;
use crate::project::within;
use crate::replay::Failures;
use crate::runtime::{Means, Wired, code_cache, identity, sandboxes, wire};
use crate::screen::Tone;
use crate::seams::{Either, Seams, Task, first, time_zone};
use crate::shutdown::{self, Phase, Phases, advance, reached};
use crate::source::{Folder, Watch};
use crate::why::{Question, text};
use follow::{Follower, State};
use keys::{Key, Keyboard};
use names::Names;
use news::News;
use settled::{Rest, busiest, settled};
use target::Target;
use tell::Teller;

pub use render::render;

/// How long passes may take to end.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// A session: a host that runs, and what is needed to follow targets.
struct Session {
    wired: Wired,
    teller: Teller,
    names: Names,
    folders: mpsc::Sender<Folder>,
    seams: Seams,
    page: Option<String>,
    /// The API server is this program's own.
    own_server: bool,
}

/// Runs targets until everything is settled, a signal or a key comes, or nobody listens any more.
///
/// # Errors
/// It cannot start, the first build fails; with `--once`, also that a pass has failed.
pub async fn run(flags: Dev, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let targets = flags.targets.iter().map(|path| Target::open(path));
    let targets: Vec<Target> = targets.collect::<anyhow::Result<_>>()?;
    let zone = time_zone(flags.time_zone.as_deref());
    let teller = Teller::new(flags.output, seams.clock, zone);
    let (phase, phases, _signals) =
        shutdown::listen(&seams).context("cannot listen for signals")?;
    let own = targets
        .first()
        .context("name a project's folder or a component");
    let own = own.and_then(own_folder);
    let failures = own.as_ref().ok().map(|own| own.join("failures"));
    let failures = failures.and_then(|folder| Failures::open(folder, &seams).ok());
    if failures.is_none() {
        // Where nothing may be written, plugins can be tried all the same.
        let text = "failed passes are not recorded, since .windlass/failures cannot be made";
        teller.hint(Tone::Warning, "Replay", text);
    }
    let server = embedded(&flags, own, &seams)?;
    let kubeconfig = server.as_ref().map(|server| server.kubeconfig().to_owned());
    let cluster = Cluster {
        kubeconfig: kubeconfig.clone().or(flags.kubeconfig.clone()),
        context: flags.context.clone(),
        namespace: None,
    };
    let teller = teller.of(&cluster);
    let _server = server.map(|server| {
        teller.tell(&News::Serving { url: server.url() });
        server.start(&seams)
    });
    let (api, namespace) = connect(&cluster, &seams).await?;
    let name = identity(&seams);
    let means = Means {
        api,
        namespace,
        cache: code_cache(flags.code_cache.clone())?,
        last_good: None,
        quarantine: Quarantine::default(),
        sandboxes: sandboxes(threads, &seams)?,
        identity: name.clone(),
        times: Times::default(),
        grace: GRACE,
        failures,
    };
    let wired = wire(means, &seams);
    let ports = Ports {
        metrics: BindAddress::Nowhere,
        probes: BindAddress::Nowhere,
        status: flags.admin_bind_address,
    };
    let served = admin::serve(ports, wired.finder.clone(), wired.board.clone(), &seams).await?;
    let page = served.status.map(|address| format!("http://{address}"));
    // Gone when this function ends.
    let _written: Vec<Written> = match &page {
        Some(page) => told(&targets, &name, page),
        None => Vec::new(),
    };
    let (folders, held) = mpsc::channel(1);
    let host = run_host(&wired, held, &phase, &phases, &seams);
    let session = Session {
        wired,
        teller,
        names: Names::default(),
        folders,
        seams,
        page,
        own_server: kubeconfig.is_some(),
    };
    let work = session.work(&flags, targets, kubeconfig.as_deref());
    let stopped = first(reached(&phases, Phase::Drain), session.teller.alone());
    let ended = match first(work, stopped).await {
        Either::Left(ended) => ended,
        Either::Right(_) => Ok(()),
    };
    advance(&phase, Phase::Drain);
    let host = host.await.context("the host's task was lost")?;
    ended.and(host)
}

/// Each target's folder knows its host, where it can be written.
fn told(targets: &[Target], host: &str, page: &str) -> Vec<Written> {
    let folders = targets.iter().filter_map(|target| own_folder(target).ok());
    let written = folders.filter_map(|folder| folder::write(&folder, host, page).ok());
    written.collect()
}

/// The folder for what belongs to a target, and is nobody's to keep.
fn own_folder(target: &Target) -> anyhow::Result<PathBuf> {
    let folder = within(target.folder(), Path::new(".windlass"));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(".gitignore"), "*\n"))
        .with_context(|| {
            format!(
                "cannot make the folder {}: name a file for the kubeconfig with --kubeconfig-out",
                folder.display()
            )
        })?;
    Ok(folder)
}

/// The API server of this program, unless a cluster is named.
fn embedded(
    flags: &Dev,
    own: anyhow::Result<PathBuf>,
    seams: &Seams,
) -> anyhow::Result<Option<Embedded>> {
    if flags.kubeconfig.is_some() || flags.context.is_some() {
        return Ok(None);
    }
    let file = match &flags.kubeconfig_out {
        Some(file) => file.clone(),
        None => own?.join("kubeconfig"),
    };
    Ok(Some(Embedded::open(flags.port, file, true, false, seams)?))
}

fn run_host(
    wired: &Wired,
    folders: mpsc::Receiver<Folder>,
    phase: &watch::Sender<Phase>,
    phases: &Phases,
    seams: &Seams,
) -> Task<anyhow::Result<()>> {
    let (host, phase, phases) = (wired.host.clone(), phase.clone(), phases.clone());
    seams.spawn.task(async move {
        let watch = Watch::by_hand(folders);
        host.run(watch, Folder::default(), &phase, &phases).await
    })
}

impl Session {
    /// Builds and applies everything, and follows it.
    async fn work(
        &self,
        flags: &Dev,
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
                self.teller.tell(&News::BuildFailed {
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
        let (host, names, teller) = (host.clone(), self.names.clone(), self.teller.clone());
        let (clock, page) = (seams.clock, self.page.clone());
        let kubeconfig = kubeconfig.map(|path| path.display().to_string());
        tasks.push(seams.spawn.task(async move {
            let rest = settled(&host, &names).await;
            for line in &rest.endless {
                teller.hint(Tone::Warning, "Loop", line);
            }
            let took = clock.now() - began;
            teller.tell(&News::Ready {
                took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                page,
                kubeconfig,
            });
        }));
        self.keys().await;
        drop(tasks);
        Ok(())
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
            if let Some(insight) = self.wired.host.insights.of(&plugin) {
                insight.run_all();
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
            Ok(crate::seams::Ended::Code(0))
        ) {
            let text = format!("no browser was found: open {page}");
            self.teller.hint(Tone::Warning, "Page", &text);
        }
    }
}

/// What `--once` ends with.
fn verdict(
    rest: Option<Rest>,
    refused: bool,
    timeout: Duration,
    busy: &[String],
) -> anyhow::Result<()> {
    let Some(rest) = rest else {
        bail!(
            "not everything is settled after {} s; --timeout says how long to wait, and without --once one sees what goes on{}",
            timeout.as_secs(),
            busy.iter()
                .map(|line| format!("\n{line}"))
                .collect::<String>()
        );
    };
    if !rest.failed.is_empty() {
        let (number, objects) = (rest.failed.len(), rest.objects);
        bail!(
            "{number} of {objects} objects failed\n{}",
            rest.failed.join("\n")
        );
    }
    if !rest.endless.is_empty() {
        let (number, objects) = (rest.endless.len(), rest.objects);
        bail!(
            "not settled: {number} of {objects} objects are reconciled in an endless loop; let each pass write the same value, or look for another writer of the field\n{}",
            rest.endless.join("\n")
        );
    }
    if refused {
        bail!("the API server refused some of the project's objects, as said above");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_fails_if_anything_did() {
        let second = Duration::from_secs(1);
        let fine = || Rest {
            objects: 2,
            ..Rest::default()
        };
        assert!(verdict(Some(fine()), false, second, &[]).is_ok());
        let failed = Rest {
            failed: vec!["Greeting a: no".into()],
            ..fine()
        };
        let endless = Rest {
            endless: vec!["Greeting a: each pass rewrites ConfigMap b .data.text".into()],
            ..fine()
        };
        for (rest, refused, said) in [
            (None, false, "after 1 s"),
            (None, false, "what goes on\nGreeting a: 9 passes"),
            (
                Some(endless),
                false,
                "not settled: 1 of 2 objects are reconciled in an endless loop",
            ),
            (Some(failed), false, "1 of 2 objects failed\nGreeting a: no"),
            (Some(fine()), true, "refused some"),
        ] {
            let busy = ["Greeting a: 9 passes".to_owned()];
            let error = verdict(rest, refused, second, &busy)
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
