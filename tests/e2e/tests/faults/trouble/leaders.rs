//! Of two hosts the leader is killed or frozen, again and again, while a user changes Greetings. Nobody writes
//! once another one has the Lease, by the API server's audit log, and the work goes on.
//!
//! - A blow lands at a request: there is no moment to hit, and none to miss.
//! - A leader that dies is replaced by one with another name, as by a Deployment.
//! - `WINDLASS_STRIKES` says how often there is a blow, `WINDLASS_LEASE_SECONDS` how long the Leases last, and
//!   `WINDLASS_SEED` which blows there are.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use windlass_e2e::{
    Account, Cluster, DEADLINE, Epochs, Fault, Plugins, RequestHead, RequestRecord, Rule,
    eventually,
};

use crate::trouble::life::{Life, audit_so_far, concerning, lease_flags, setting};

const LEASE: &str = "windlass-greeter";

/// The Greetings that the user changes in turn.
const NAMES: [&str; 3] = ["ada", "bob", "eve"];

/// What happens to a leader.
#[derive(Clone, Copy, Debug)]
enum Blow {
    /// It is killed at a write of the plugin.
    Killed(Fault, usize),
    /// It is killed when it renews its session.
    KilledRenewing(Fault),
    /// It stands still after a write of the plugin, and goes on when another one has taken over.
    Frozen(usize),
    /// It stands still after a write of the plugin, and goes on when another one is about to take over.
    Revived(usize),
}

impl Blow {
    fn drawn(dice: &mut fastrand::Rng) -> Self {
        let kills = [
            Fault::KillBefore,
            Fault::KillAfterApplied,
            Fault::KillAfterAnswer,
        ];
        let kill = kills[dice.usize(..kills.len())];
        let nth = dice.usize(1..=5);
        match dice.u32(..8) {
            0..=2 => Self::Killed(kill, nth),
            3 => Self::KilledRenewing(kill),
            4..=6 => Self::Frozen(nth),
            _ => Self::Revived(nth),
        }
    }

    fn rule(self) -> Rule {
        match self {
            Self::Killed(fault, nth) => Rule::new("blow", is_plugins_write, fault).nth(nth),
            Self::KilledRenewing(fault) => Rule::new("blow", is_renewal, fault).nth(1),
            Self::Frozen(nth) | Self::Revived(nth) => {
                Rule::new("blow", is_plugins_write, Fault::HoldAnswer).nth(nth)
            }
        }
    }
}

fn is_plugins_write(head: &RequestHead) -> bool {
    head.is_write() && !head.path.contains("/leases") && !head.path.contains("/events")
}

fn is_renewal(head: &RequestHead) -> bool {
    head.method == "PUT" && head.path.contains("/leases/windlass-session-")
}

fn takes_the_lease(head: &RequestHead) -> bool {
    head.method == "PUT" && head.path.ends_with(LEASE)
}

#[tokio::test]
async fn while_leaders_are_killed_and_frozen_nobody_writes_but_the_holder_of_the_lease()
-> Result<()> {
    let strikes: usize = setting("WINDLASS_STRIKES", 20)?;
    let seed = setting("WINDLASS_SEED", 6)?;
    let mut crew = Crew::new(setting("WINDLASS_LEASE_SECONDS", 3)?).await?;
    let cluster = Cluster::existing(&crew.cluster.namespace).await?;
    for name in NAMES {
        cluster.greet(name, json!({ "name": "Ada" })).await?;
    }
    let done = AtomicUsize::new(0);
    let mut dice = fastrand::Rng::with_seed(seed);
    let strike_all = async {
        for number in 1..=strikes {
            let blow = Blow::drawn(&mut dice);
            let what = || format!("blow {number} of seed {seed} is {blow:?}");
            crew.strike(blow, &done).await.with_context(what)?;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        never = work(&cluster, &done) => match never? {},
        struck = strike_all => struck?,
    }
    crew.judge(strikes).await
}

/// A user who changes one Greeting after the other, and waits for each.
async fn work(cluster: &Cluster, done: &AtomicUsize) -> Result<std::convert::Infallible> {
    for number in 0_usize.. {
        let name = NAMES[number % NAMES.len()];
        let change = json!({ "spec": { "name": format!("n{number}") } });
        cluster.patch("Greeting", name, change).await?;
        let text = json!(format!("Hello, n{number}!"));
        let said = |greeting: &Value| greeting.pointer("/status/text") == Some(&text);
        cluster.until("Greeting", name, "is said", said).await?;
        done.fetch_add(1, Ordering::Relaxed);
    }
    bail!("the user has run out of numbers")
}

/// Two places for hosts.
struct Crew {
    cluster: Cluster,
    plugins: Plugins,
    account: Account,
    flags: Vec<String>,
    places: Vec<Life>,
    lives: usize,
}

impl Crew {
    async fn new(lease_seconds: u64) -> Result<Self> {
        let cluster = Cluster::new("leaders").await?;
        let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let flags = lease_flags(lease_seconds);
        let mut crew = Self {
            cluster,
            plugins,
            account,
            flags,
            places: Vec::new(),
            lives: 0,
        };
        for _ in 0..2 {
            let life = crew.bear()?;
            crew.places.push(life);
        }
        Ok(crew)
    }

    fn bear(&mut self) -> Result<Life> {
        self.lives += 1;
        let identity = format!("host-{}", self.lives);
        let namespace = &self.cluster.namespace;
        Life::begin(
            identity,
            &self.account,
            (self.plugins.folder(), namespace),
            &self.flags,
        )
    }

    fn replace_the_dead(&mut self) -> Result<()> {
        for place in 0..self.places.len() {
            if !self.places[place].host.is_running() {
                self.places[place] = self.bear()?;
            }
        }
        Ok(())
    }

    async fn holder(&self) -> Result<String> {
        let lease = self.cluster.get("Lease", LEASE).await?;
        let lease = lease.context("there is no Lease yet")?;
        let holder = lease.data.pointer("/spec/holderIdentity");
        let holder = holder.and_then(Value::as_str);
        Ok(holder.unwrap_or_default().to_owned())
    }

    /// The place of the leader, once the other host waits for its Lease.
    async fn leader(&mut self) -> Result<usize> {
        eventually(DEADLINE, "one leads and one waits", async || {
            self.replace_the_dead()?;
            let holder = self.holder().await?;
            let leads = |life: &Life| life.identity == holder;
            let waits = |life: &Life| {
                life.host.count(|line| {
                    line.message.starts_with("waiting: another host")
                        && line.field("holder") == holder
                }) > 0
            };
            let (one, other) = (&self.places[0], &self.places[1]);
            Ok(
                match (leads(one) && waits(other), leads(other) && waits(one)) {
                    (true, _) => Some(0),
                    (_, true) => Some(1),
                    (false, false) => None,
                },
            )
        })
        .await
    }

    /// Strikes the leader, and sees that somebody goes on.
    async fn strike(&mut self, blow: Blow, done: &AtomicUsize) -> Result<()> {
        loop {
            let leader = self.leader().await?;
            self.places[leader].proxy.set_rules([blow.rule()]);
            if !self.lands(leader, blow).await? {
                // A machine that is too busy to renew a session may strike first.
                continue;
            }
            match blow {
                Blow::Killed(..) | Blow::KilledRenewing(_) => self.other_leads(leader).await?,
                Blow::Frozen(_) => self.thaws_late(leader, done).await?,
                Blow::Revived(_) => self.thaws_in_between(leader).await?,
            }
            return self.goes_on(done).await;
        }
    }

    /// Waits until the leader is dead or frozen by the blow; answers whether it is.
    async fn lands(&mut self, leader: usize, blow: Blow) -> Result<bool> {
        let Life { host, proxy, .. } = &self.places[leader];
        let freezes = matches!(blow, Blow::Frozen(_) | Blow::Revived(_));
        let is_held = |record: &RequestRecord| record.rule.is_some() && record.upstream.is_some();
        let landed = eventually(DEADLINE, "the blow lands", async || {
            let landed = if freezes {
                proxy.log().iter().any(is_held)
            } else {
                proxy.kills() > 0
            };
            let gone = !host.is_running() && !proxy.log().iter().any(|it| it.rule.is_some());
            Ok((landed || gone).then_some(landed))
        })
        .await?;
        if landed && freezes {
            if matches!(blow, Blow::Revived(_)) {
                let take = Rule::new("take", takes_the_lease, Fault::Hold).nth(1);
                self.places[1 - leader].proxy.set_rules([take]);
            }
            host.freeze()?;
        }
        if freezes {
            // The answer waits in the host's socket.
            proxy.clear();
        }
        Ok(landed)
    }

    async fn other_leads(&mut self, leader: usize) -> Result<()> {
        let before = self.places[leader].identity.clone();
        eventually(DEADLINE, "another one leads", async || {
            // Not a frozen one: it runs.
            self.replace_the_dead()?;
            let holder = self.holder().await?;
            Ok((!holder.is_empty() && holder != before).then_some(()))
        })
        .await
    }

    /// The frozen host goes on when another one has worked for a while: it ends.
    async fn thaws_late(&mut self, leader: usize, done: &AtomicUsize) -> Result<()> {
        self.other_leads(leader).await?;
        self.goes_on(done).await?;
        let host = self.places[leader].host.clone();
        host.thaw()?;
        ensure!(
            !host.ended().await?.success(),
            "it ends well: {:#?}",
            host.log()
        );
        let says = |text| host.count(|line| line.message.contains(text)) > 0;
        ensure!(
            says("another host has taken the lease")
                || says("the session could not be renewed in time"),
            "it does not say why it ended: {:#?}",
            host.log()
        );
        Ok(())
    }

    /// The frozen host goes on when another one is about to take the Lease: one of the two gets it.
    async fn thaws_in_between(&mut self, leader: usize) -> Result<()> {
        let (frozen, other) = (&self.places[leader], &self.places[1 - leader]);
        let about = async || Ok((other.proxy.count("take") > 0).then_some(()));
        eventually(DEADLINE, "another one is about to lead", about).await?;
        let asked = frozen.proxy.log().len();
        frozen.host.thaw()?;
        let renewed = |it: &RequestRecord| {
            it.method == "PUT" && it.path.ends_with(LEASE) && it.status.is_some()
        };
        eventually(
            DEADLINE,
            "the host takes its Lease again, or ends",
            async || {
                let log = frozen.proxy.log();
                let renewed = log[asked..].iter().any(renewed);
                Ok((renewed || !frozen.host.is_running()).then_some(()))
            },
        )
        .await?;
        other.proxy.clear();
        Ok(())
    }

    /// Waits until the user has got two more answers.
    async fn goes_on(&mut self, done: &AtomicUsize) -> Result<()> {
        // The first of them may have been on its way.
        let wanted = done.load(Ordering::Relaxed) + 2;
        eventually(DEADLINE, "the work goes on", async || {
            self.replace_the_dead()?;
            Ok((done.load(Ordering::Relaxed) >= wanted).then_some(()))
        })
        .await
    }

    /// What the API server's audit log says, once everybody has stopped.
    async fn judge(self, strikes: usize) -> Result<()> {
        let Self {
            cluster, places, ..
        } = self;
        drop(places);
        let namespace = &cluster.namespace;
        let audit = audit_so_far(&cluster).await?;
        let audit = concerning(&audit, &[namespace, "greetings"]);
        let judged = Epochs::of(&audit, namespace, LEASE);
        ensure!(judged.strays.is_empty(), "{:#?}", judged.strays);
        // Who is revived may keep its Lease.
        let (holders, writes) = (judged.holders.len(), judged.writes);
        ensure!(
            holders > strikes / 2 && writes > 4 * strikes,
            "{writes} writes by {:?} are no work",
            judged.holders
        );
        Ok(())
    }
}
