//! The API server is away, or has no time for anybody, for twenty seconds in which a user works on.

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use windlass_e2e::{
    Cluster, DEADLINE, Fault, FaultProxy, Greeter, Line, Plugins, RequestHead, RequestRecord, Rule,
    Scene, ask, eventually,
};

/// How long the API server is away or busy.
const TROUBLE: Duration = Duration::from_secs(20);
/// What is tried again may wait as long as the trouble lasted, and a Lease has to run out.
const PATIENCE: Duration = Duration::from_secs(180);

/// Leases that outlive the trouble.
const LONG_LEASE: [&str; 3] = [
    "--leader-elect-lease-duration=90s",
    "--leader-elect-renew-deadline=60s",
    "--leader-elect-retry-period=2s",
];

#[tokio::test]
async fn a_host_goes_on_when_the_api_server_was_away_for_less_than_its_lease() -> Result<()> {
    let flags = [&LONG_LEASE[..], &["--admin-bind-address=127.0.0.1:0"]].concat();
    let (scene, proxy) = start("away", &flags).await?;
    let user = User::begin(&scene.cluster, &proxy).await?;
    proxy.partition();
    let wanted = user.work_for(TROUBLE).await?;
    // A client that asks meanwhile is told that, and what is known.
    let status = scene.host.serves("status").await?;
    eventually(DEADLINE, "the page says so", async || {
        let (_, page) = ask(&status, "/")?;
        ensure!(page.contains("the API server gives no answer: "), "{page}");
        Ok(Some(()))
    })
    .await?;
    let namespace = &scene.cluster.namespace;
    let path = format!("/why?kind=greeting&name=g0&namespace={namespace}");
    let (_, why) = ask(&status, &path)?;
    let said = "NOTE       the API server could not be asked: ";
    ensure!(why.contains(said) && why.contains("LAST PASS"), "{why}");
    proxy.heal();
    user.has(wanted).await?;
    ensure!(scene.host.is_running(), "{:#?}", scene.host.log());
    // It said so, in the words of each new error, and not for each of them.
    for kind in ["greetings", "configmaps", "deployments"] {
        let of_kind =
            |line: &Line| line.message.starts_with("cannot watch") && line.message.contains(kind);
        let said = scene.host.count(of_kind);
        ensure!((1..=6).contains(&said), "{kind}: it is said {said} times");
    }
    Ok(())
}

#[tokio::test]
async fn a_host_whose_lease_runs_out_while_the_api_server_is_away_ends_and_the_next_one_goes_on()
-> Result<()> {
    let (scene, proxy) = start("away-long", &[]).await?;
    let user = User::begin(&scene.cluster, &proxy).await?;
    proxy.partition();
    let wanted = user.work_for(TROUBLE).await?;
    let status = scene.host.ended().await?;
    ensure!(!status.success(), "{:#?}", scene.host.log());
    scene
        .host
        .says("the session could not be renewed in time")
        .await?;
    // Its last words are where all others are.
    scene.host.says("leader election lost").await?;
    proxy.heal();
    let next = scene.another_host(&["--identity=next"])?;
    user.has(wanted).await?;
    ensure!(next.is_running(), "{:#?}", next.log());
    Ok(())
}

#[tokio::test]
async fn a_busy_api_server_costs_no_lease_and_no_failure() -> Result<()> {
    let (scene, proxy) = start("busy", &["--identity=busy"]).await?;
    let user = User::begin(&scene.cluster, &proxy).await?;
    let renewals = |proxy: &FaultProxy| {
        let is_renewal =
            |it: &&RequestRecord| it.path.contains("/leases/") && it.status == Some(200);
        proxy.log().iter().filter(is_renewal).count()
    };
    let before = renewals(&proxy);
    // Leases have a priority level of their own, so that they get through.
    let busy = |head: &RequestHead| !head.path.contains("/leases");
    let fault = Fault::Status {
        code: 429,
        retry_after: Some(1),
    };
    let watches = |kind: &'static str| {
        let of_kind = move |head: &RequestHead| head.is_watch() && head.path.ends_with(kind);
        Rule::counter(kind, of_kind)
    };
    // The first to meet it is a pass, whose object came over a watch that still runs.
    let busy_writes = move |head: &RequestHead| head.is_write() && busy(head);
    proxy.set_rules([Rule::new("busy writes", busy_writes, fault)]);
    user.change(0..OLD, 2).await?;
    scene.host.says("pass failed").await?;
    let kinds = ["greetings", "configmaps", "deployments"];
    let rules = kinds
        .map(watches)
        .into_iter()
        .chain([Rule::new("busy", busy, fault)]);
    proxy.set_rules(rules);
    proxy.cut_watches();
    let wanted = user.work_for(TROUBLE).await?;
    // A host that waits longer each time does not come ten times.
    eventually(DEADLINE, "each informer has asked ten times", async || {
        Ok(kinds
            .iter()
            .all(|kind| proxy.count(kind) >= 10)
            .then_some(()))
    })
    .await?;
    let asked = proxy.count("busy");
    let renewed = renewals(&proxy) - before;
    proxy.clear();
    user.has(wanted).await?;
    ensure!(scene.host.is_running(), "{:#?}", scene.host.log());
    ensure!(renewed >= 5, "the Lease was renewed {renewed} times");
    let lease = scene.cluster.get("Lease", "windlass-greeter").await?;
    let lease = lease
        .map(|lease| lease.data["spec"].clone())
        .unwrap_or_default();
    ensure!(
        lease["holderIdentity"] == "busy" && lease["leaseTransitions"] == 0,
        "{lease}"
    );
    let log = scene.host.log();
    let failed: Vec<&Line> = log
        .iter()
        .filter(|line| line.message.starts_with("pass failed"))
        .collect();
    ensure!(!failed.is_empty(), "no pass has met a busy server");
    for line in failed {
        let counted = line.number("attempt") != Some(0);
        let waits = line.fields["retry_ms"].as_f64().unwrap_or(f64::MAX);
        ensure!(!counted && waits <= 1500.0, "{line:#?}");
    }
    // Eight workers, three informers, a second's pause each: with room for a second try within a call.
    ensure!(asked < 1500, "the busy server was asked {asked} times");
    Ok(())
}

async fn start(prefix: &str, more: &[&str]) -> Result<(Scene, FaultProxy)> {
    let cluster = Cluster::new(prefix).await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.written_in(Greeter::Rust).greeter()?;
    Scene::start_behind_proxy_with(cluster, plugins, more)
}

/// Who changes Greetings all the time.
struct User<'a> {
    cluster: &'a Cluster,
}

const OLD: usize = 20;

impl<'a> User<'a> {
    /// Makes Greetings, changes them, and comes back when the host is at work on that.
    async fn begin(cluster: &'a Cluster, proxy: &FaultProxy) -> Result<Self> {
        for number in 0..OLD {
            let spec = json!({ "name": "n0", "replicas": 0 });
            cluster.greet(&format!("g{number}"), spec).await?;
        }
        for number in 0..OLD {
            cluster.until_ready(&format!("g{number}")).await?;
        }
        let user = Self { cluster };
        proxy.set_rules([Rule::counter("begun", |head| {
            head.is_write() && head.path.ends_with("/status")
        })]);
        user.change(0..OLD, 1).await?;
        let begun = async || Ok((proxy.count("begun") > OLD / 4).then_some(()));
        eventually(DEADLINE, "the host is at work", begun).await?;
        Ok(user)
    }

    async fn change(&self, which: std::ops::Range<usize>, to: usize) -> Result<()> {
        for number in which {
            let change = json!({ "spec": { "name": format!("n{to}") } });
            let name = format!("g{number}");
            self.cluster.patch("Greeting", &name, change).await?;
        }
        Ok(())
    }

    /// Changes Greetings, makes some and deletes some; answers what each is to say in the end.
    async fn work_for(&self, time: Duration) -> Result<Vec<(String, String)>> {
        let until = Instant::now() + time;
        for number in 0..5 {
            let spec = json!({ "name": "new", "replicas": 0 });
            self.cluster.greet(&format!("new{number}"), spec).await?;
            self.cluster
                .delete("Greeting", &format!("g{number}"))
                .await?;
        }
        let mut last = 1;
        while Instant::now() < until {
            last += 1;
            self.change(5..OLD, last).await?;
            sleep(Duration::from_millis(200)).await;
        }
        let old = (5..OLD).map(|number| (format!("g{number}"), format!("Hello, n{last}!")));
        let new = (0..5).map(|number| (format!("new{number}"), "Hello, new!".to_owned()));
        let mut wanted: Vec<_> = old.chain(new).collect();
        // As the server lists them.
        wanted.sort();
        Ok(wanted)
    }

    /// Waits until there is what the user wants, and nothing else.
    async fn has(&self, wanted: Vec<(String, String)>) -> Result<()> {
        eventually(PATIENCE, "the user has what it wants", async || {
            let greetings = self.cluster.api("Greeting", &self.cluster.namespace)?;
            let greetings = greetings.list(&ListParams::default()).await?;
            let said = greetings.items.into_iter().map(|greeting| {
                let text = greeting
                    .data
                    .pointer("/status/text")
                    .and_then(Value::as_str);
                let text = text.unwrap_or_default().to_owned();
                (greeting.metadata.name.unwrap_or_default(), text)
            });
            let said: Vec<_> = said.collect();
            ensure!(said == wanted, "it has {said:?}");
            Ok(Some(()))
        })
        .await
    }
}
