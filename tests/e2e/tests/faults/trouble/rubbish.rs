//! The API server, or something before it, answers with rubbish: to lists, watches, reads, writes and
//! renewals of the Lease. The host lives on, needs no more memory than it may, and says what it met.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use windlass_e2e::{
    Cluster, DEADLINE, Fault, FaultProxy, Greeter, Host, Line, Plugins, RequestHead, Rule, Scene,
    eventually,
};

/// A Lease that outlives a dozen answers to its renewals.
const LONG_LEASE: [&str; 3] = [
    "--leader-elect-lease-duration=120s",
    "--leader-elect-renew-deadline=100s",
    "--leader-elect-retry-period=1s",
];

/// How many requests in a row are answered with rubbish.
const IN_A_ROW: usize = 12;

/// What a host may take beside what it has, when six answers never end.
const MEMORY: u64 = 600 << 10;

const BROKEN: Fault = Fault::Status {
    code: 500,
    retry_after: None,
};

/// A host behind a proxy, and Greetings of which the last was the `lives`th.
struct Met {
    scene: Scene,
    proxy: FaultProxy,
    lives: usize,
}

#[tokio::test]
async fn rubbish_in_any_answer_is_survived() -> Result<()> {
    let mut met = Met::start("rubbish").await?;
    let faults = [
        BROKEN,
        Fault::Status {
            code: 404,
            retry_after: None,
        },
        Fault::Html(502),
        Fault::Html(200),
        Fault::Disconnect,
        Fault::LoseAnswer,
    ];
    for fault in faults {
        met.survives(&[fault; IN_A_ROW]).await?;
    }
    met.lives_on("nothing else was met").await
}

#[tokio::test]
async fn an_answer_that_breaks_off_at_any_byte_is_survived() -> Result<()> {
    let mut met = Met::start("cuts").await?;
    // Each byte of the beginning, and then each that is a fifth farther.
    let few = 0..24;
    let more = std::iter::successors(Some(24), |bytes| Some(bytes * 6 / 5)).take(36);
    let cuts: Vec<Fault> = few.chain(more).map(Fault::CutBody).collect();
    for cuts in cuts.chunks(IN_A_ROW) {
        met.survives(cuts).await?;
    }
    met.lives_on("nothing else was met").await
}

#[tokio::test]
async fn answers_that_never_end_take_no_more_memory_than_they_may() -> Result<()> {
    let mut met = Met::start("endless").await?;
    let before = peak(&met.scene.host)?;
    met.survives(&[Fault::EndlessBody; 6]).await?;
    let after = peak(&met.scene.host)?;
    ensure!(after <= before + MEMORY, "it took {} KiB", after - before);
    met.lives_on("nothing else was met").await
}

#[tokio::test]
async fn answers_that_never_come_are_given_up() -> Result<()> {
    let mut met = Met::start("never").await?;
    // Three watches, a renewal and a write: each has a deadline of its own, and nothing is let go here.
    for fault in [Fault::Hold, Fault::HoldAnswer] {
        met.survives(&[fault; 5]).await?;
    }
    met.lives_on("nothing else was met").await
}

#[tokio::test]
async fn rubbish_that_goes_on_is_told_once() -> Result<()> {
    for (fault, words) in [
        (BROKEN, "500 InternalError: made up by the fault proxy"),
        (Fault::Html(200), "the answer broke off"),
    ] {
        let met = Met::start("told").await?;
        met.proxy
            .set_rules([Rule::new("watch", RequestHead::is_watch, fault)]);
        met.proxy.cut_watches();
        let tries = async || Ok((met.proxy.count("watch") > 9).then_some(()));
        eventually(
            DEADLINE,
            "three informers have tried again and again",
            tries,
        )
        .await?;
        met.proxy.clear();
        let told =
            |line: &Line| line.message.starts_with("cannot watch") && line.message.contains(words);
        let told = met.scene.host.count(told);
        ensure!(
            (1..=3).contains(&told),
            "{words:?} is said {told} times: {:#?}",
            met.scene.host.log()
        );
        met.lives_on("the watches work again").await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_host_that_meets_rubbish_at_its_start_ends_with_one_line() -> Result<()> {
    let met = Met::start("start").await?;
    let cases = [
        (BROKEN, "is not a healthy API server"),
        (Fault::Html(502), "is not a healthy API server"),
        (Fault::Html(200), "is not a healthy API server"),
        (Fault::EndlessBody, "is not a healthy API server"),
        (Fault::CutBody(10), "does not answer"),
        (Fault::LoseAnswer, "does not answer"),
        (Fault::Hold, "no answer within 20 s"),
    ];
    for (fault, words) in cases {
        met.proxy
            .set_rules([Rule::new("first", |head| head.path == "/apis", fault)]);
        let host = met.scene.another_host(&[])?;
        ensure!(host.ended().await?.code() == Some(1), "{fault:?}");
        let is_error = |line: &Line| line.field("level") == "ERROR";
        let said = host.logs("its last words", is_error).await?;
        ensure!(said.message.contains(words), "{fault:?}: {said:?}");
        ensure!(host.log().len() == 1, "{fault:?}: {:#?}", host.log());
    }
    Ok(())
}

impl Met {
    async fn start(prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?;
        let plugins = plugins.written_in(Greeter::Rust).greeter()?;
        let (scene, proxy) = Scene::start_behind_proxy_with(cluster, plugins, &LONG_LEASE)?;
        scene.cluster.greet("g0", json!({ "name": "Ada" })).await?;
        scene.cluster.until_ready("g0").await?;
        Ok(Self {
            scene,
            proxy,
            lives: 0,
        })
    }

    /// All watches break, and the next requests of any kind, but for Events, are answered with rubbish,
    /// while a Greeting is made, another one changed, and one deleted.
    async fn survives(&mut self, faults: &[Fault]) -> Result<()> {
        let Self {
            scene,
            proxy,
            lives,
        } = self;
        let cluster = &scene.cluster;
        let is_met = |head: &RequestHead| !head.path.contains("/events");
        let rules = faults
            .iter()
            .enumerate()
            .map(|(index, fault)| Rule::new("rubbish", is_met, *fault).nth(index + 1));
        proxy.set_rules(rules.chain([Rule::counter("met", is_met)]));
        proxy.cut_watches();
        let old = format!("g{lives}");
        *lives += 1;
        let new = format!("g{lives}");
        let life = async {
            cluster.greet(&new, json!({ "name": "Ada" })).await?;
            eventually(DEADLINE, "all rubbish was met", async || {
                Ok((proxy.count("met") > faults.len()).then_some(()))
            })
            .await?;
            cluster
                .patch("Greeting", &new, json!({ "spec": { "name": "Bob" } }))
                .await?;
            cluster.until_ready(&new).await?;
            cluster.delete("Greeting", &old).await?;
            cluster.until_gone("Greeting", &old).await
        };
        life.await
            .with_context(|| format!("{faults:?}: {:#?}", warnings(&scene.host)))?;
        proxy.set_rules([]);
        Ok(())
    }

    /// That the host has neither ended nor lost its Lease.
    async fn lives_on(&self, why: &str) -> Result<()> {
        let cluster = &self.scene.cluster;
        cluster.greet("last", json!({ "name": "Eve" })).await?;
        cluster.until_ready("last").await.context(why.to_owned())?;
        ensure!(self.scene.host.is_running(), "{:#?}", self.scene.host.log());
        Ok(())
    }
}

fn warnings(host: &Host) -> Vec<String> {
    let log = host
        .log()
        .into_iter()
        .filter(|line| line.field("level") != "INFO");
    log.map(|line| line.message).collect()
}

/// The most resident memory that a host has had, in KiB.
fn peak(host: &Host) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", host.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no VmHWM")?.parse()?)
}
