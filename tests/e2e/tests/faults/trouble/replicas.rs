//! Three replicas run many plugins. One of them is killed, frozen or cut off from the API server, again and again, while
//! users change objects of all plugins. At any moment one replica writes for a plugin, by the API server's audit log, and no
//! change stays without an answer.
//!
//! - `WINDLASS_REPLICA_PLUGINS` says how many plugins there are, and `WINDLASS_REPLICA_STRIKES` how often there is a blow.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use futures::future::{select_all, try_join_all};
use serde_json::{Value, json};
use windlass_e2e::variant::{component, put, relay};
use windlass_e2e::{Account, Cluster, DEADLINE, Epochs, Plugins, eventually};

use crate::trouble::life::{Life, audit_so_far, concerning, lease_flags, setting};

/// What happens to a replica.
#[derive(Clone, Copy, Debug)]
enum Blow {
    Killed,
    /// It stands still, and goes on when others run its plugins.
    Frozen,
    /// It reaches the API server again when others run its plugins.
    CutOff,
}

/// A plugin, its namespace, and how many changes its user has got an answer to.
struct Post {
    plugin: String,
    cluster: Cluster,
    done: AtomicUsize,
}

impl Post {
    async fn new(number: usize, folder: &Plugins) -> Result<Self> {
        let cluster = Cluster::new("replica").await?;
        let plugin = format!("relay-{number}");
        let mut document = relay(&Plugins::new(&cluster.namespace)?, &plugin, "v1", "");
        document["spec"]["source"] = json!({ "file": "relay.wasm" });
        let file = format!("{plugin}.yaml");
        put(folder.folder(), &file, document.to_string().as_bytes())?;
        cluster.greet("ada", json!({ "name": "n0" })).await?;
        let done = AtomicUsize::new(0);
        Ok(Self {
            plugin,
            cluster,
            done,
        })
    }

    /// Waits until the user has got two more answers.
    async fn goes_on(&self) -> Result<()> {
        // The first of them may have been on its way.
        let wanted = self.done.load(Ordering::Relaxed) + 2;
        let what = format!("the work of {} goes on", self.plugin);
        eventually(DEADLINE, &what, async || {
            Ok((self.done.load(Ordering::Relaxed) >= wanted).then_some(()))
        })
        .await
    }

    /// A user who changes the Greeting again and again, and waits for each answer.
    async fn work(&self) -> Result<Infallible> {
        for number in 1_usize.. {
            let change = json!({ "spec": { "name": format!("n{number}") } });
            self.cluster.patch("Greeting", "ada", change).await?;
            let text = json!(format!("end v1 n{number}"));
            let said = |greeting: &Value| greeting.pointer("/status/text") == Some(&text);
            self.cluster
                .until("Greeting", "ada", "is answered", said)
                .await
                .with_context(|| self.plugin.clone())?;
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        bail!("the user has run out of numbers")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_three_replicas_one_writes_for_each_plugin_whatever_happens_to_them() -> Result<()> {
    let plugins: usize = setting("WINDLASS_REPLICA_PLUGINS", 6)?;
    let strikes: usize = setting("WINDLASS_REPLICA_STRIKES", 6)?;
    let seed = setting("WINDLASS_SEED", 6)?;
    let home = Cluster::new("replicas").await?;
    let folder = Plugins::new(&home.namespace)?;
    put(folder.folder(), "relay.wasm", &component(1)?)?;
    let mut posts = Vec::new();
    for number in 0..plugins {
        posts.push(Post::new(number, &folder).await?);
    }
    let account = Account::new(&home.namespace, folder.folder())?;
    let mut fleet = Fleet {
        home,
        folder,
        account,
        flags: lease_flags(3),
        replicas: Vec::new(),
        lives: 0,
    };
    for _ in 0..3 {
        let life = fleet.begin()?;
        fleet.replicas.push(life);
    }
    let mut dice = fastrand::Rng::with_seed(seed);
    let strike_all = async {
        fleet.all_go_on(&posts).await?;
        for number in 1..=strikes {
            let blow = [Blow::Killed, Blow::Frozen, Blow::CutOff][dice.usize(..3)];
            // Half of the blows are for who runs the most plugins: the others may run none.
            let victim = match number % 2 {
                0 => dice.usize(..3),
                _ => fleet.busiest(&posts).await?,
            };
            let what = || format!("blow {number} of seed {seed} is {blow:?} for {victim}");
            fleet
                .strike(victim, blow, &posts)
                .await
                .with_context(what)?;
        }
        anyhow::Ok(())
    };
    let users = select_all(posts.iter().map(|post| Box::pin(post.work())));
    tokio::select! {
        (never, ..) = users => match never? {},
        struck = strike_all => struck?,
    }
    fleet.judge(&posts, strikes).await
}

/// Three replicas.
struct Fleet {
    home: Cluster,
    folder: Plugins,
    account: Account,
    flags: Vec<String>,
    replicas: Vec<Life>,
    lives: usize,
}

impl Fleet {
    fn begin(&mut self) -> Result<Life> {
        self.lives += 1;
        let identity = format!("replica-{}", self.lives);
        let place = (self.folder.folder(), &*self.home.namespace);
        Life::begin(identity, &self.account, place, &self.flags)
    }

    /// Strikes a replica, and sees that others run its plugins and that the work goes on. One that ends is replaced.
    async fn strike(&mut self, victim: usize, blow: Blow, posts: &[Post]) -> Result<()> {
        let replica = &self.replicas[victim];
        let led = self.leases_of(&replica.identity, posts).await?;
        match blow {
            Blow::Killed => replica.host.kill(),
            Blow::Frozen => replica.host.freeze()?,
            Blow::CutOff => replica.proxy.partition(),
        }
        eventually(DEADLINE, "others run its plugins", async || {
            let left = self.leases_of(&replica.identity, posts).await?;
            ensure!(left == 0, "it has {left} of {led} Leases");
            Ok(Some(()))
        })
        .await?;
        self.all_go_on(posts).await?;
        match blow {
            Blow::Killed => {}
            Blow::Frozen => replica.host.thaw()?,
            Blow::CutOff => replica.proxy.heal(),
        }
        let host = &replica.host;
        if led > 0 {
            let ended = host.ended().await?;
            ensure!(!ended.success(), "it ends well: {:#?}", host.log());
        }
        // Who ran no plugin has lost nothing, and stands by again.
        if led > 0 || matches!(blow, Blow::Killed) {
            let next = self.begin()?;
            self.replicas[victim] = next;
        }
        self.all_go_on(posts).await
    }

    /// The replica with the most plugins.
    async fn busiest(&self, posts: &[Post]) -> Result<usize> {
        let mut busiest = (0, 0);
        for (place, replica) in self.replicas.iter().enumerate() {
            let held = self.leases_of(&replica.identity, posts).await?;
            busiest = busiest.max((held, place));
        }
        Ok(busiest.1)
    }

    /// How many Leases of plugins `identity` has, or else nobody.
    async fn leases_of(&self, identity: &str, posts: &[Post]) -> Result<usize> {
        let mut held = 0;
        for post in posts {
            let name = format!("windlass-{}", post.plugin);
            let lease = self.home.get("Lease", &name).await?;
            let lease = lease.context("there is no Lease")?;
            let holder = lease.data.pointer("/spec/holderIdentity");
            let holder = holder.and_then(Value::as_str).unwrap_or_default();
            held += usize::from(holder.is_empty() || holder == identity);
        }
        Ok(held)
    }

    async fn all_go_on(&self, posts: &[Post]) -> Result<()> {
        try_join_all(posts.iter().map(Post::goes_on))
            .await
            .map(drop)
    }

    /// What the API server's audit log says of each plugin, once everybody has stopped.
    async fn judge(self, posts: &[Post], strikes: usize) -> Result<()> {
        let Self { home, replicas, .. } = self;
        drop(replicas);
        let audit = audit_so_far(&home).await?;
        let (mut changes, mut hands) = (0, 0);
        for post in posts {
            let (own, shared) = (&post.cluster.namespace, &home.namespace);
            let of_post = concerning(&audit, &[own, shared]);
            let judged = Epochs::of(&of_post, shared, &format!("windlass-{}", post.plugin));
            ensure!(
                judged.strays.is_empty(),
                "{}: {:#?}",
                post.plugin,
                judged.strays
            );
            let done = post.done.load(Ordering::Relaxed);
            // A pass writes twice.
            ensure!(
                judged.writes >= 2 * done,
                "{} writes, {done} answers",
                judged.writes
            );
            changes += done;
            hands += judged.holders.len();
        }
        println!("{changes} changes were answered; Leases changed hands {hands} times");
        ensure!(
            hands > strikes,
            "the Leases changed hands {hands} times only"
        );
        Ok(())
    }
}
