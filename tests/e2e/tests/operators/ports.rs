//! A host's own ports: what is counted, and whether it is well.

use std::io::Write;
use std::net::TcpStream;

use anyhow::{Result, bail};
use serde_json::json;
use windlass_e2e::variant::{component, put, relay};
use windlass_e2e::{Cluster, DEADLINE, Greeter, Plugins, Scene, ask, ask_as, eventually};
use windlass_host::status::{PluginDetails, Status};

const PORTS: [&str; 2] = [
    "--metrics-bind-address=127.0.0.1:0",
    "--health-probe-bind-address=127.0.0.1:0",
];

/// A scrape.
struct Scrape(String);

impl Scrape {
    async fn of(scene: &Scene) -> Result<Self> {
        let address = scene.host.serves("metrics").await?;
        let (status, text) = ask(&address, "/metrics")?;
        anyhow::ensure!(
            status == 200 && text.ends_with("# EOF\n"),
            "{status} {text}"
        );
        Ok(Self(text))
    }

    /// The value of a series.
    fn value(&self, series: &str) -> Option<f64> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
    }

    /// The series with such a beginning.
    fn series(&self, beginning: &str) -> Vec<&str> {
        let lines = self.0.lines();
        lines.filter(|line| line.starts_with(beginning)).collect()
    }
}

/// Scrapes until a series has at least such a value.
async fn until(scene: &Scene, series: &str, least: f64) -> Result<Scrape> {
    eventually(DEADLINE, series, async || {
        let scrape = Scrape::of(scene).await?;
        match scrape.value(series) {
            Some(value) if value >= least => Ok(Some(scrape)),
            value => anyhow::bail!("it is {value:?}"),
        }
    })
    .await
}

#[tokio::test]
async fn a_scrape_before_during_and_after_reloads_shows_what_runs_and_nothing_stale() -> Result<()>
{
    let cluster = Cluster::new("scraped").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    put(plugins.folder(), "relay.wasm", &component(1)?)?;
    let document = relay(&plugins, "relay", "v1", "");
    put(
        plugins.folder(),
        "relay.yaml",
        document.to_string().as_bytes(),
    )?;
    let scene = Scene::start_with(cluster, plugins, &PORTS)?;
    scene.host.says("reconciling").await?;
    let folder = scene.plugins.folder();
    let passes = r#"controller_runtime_reconcile_total{controller="relay",kind="Greeting",result="success"}"#;
    let before = Scrape::of(&scene).await?;
    assert_eq!(before.value(passes), Some(0.0), "a series begins at 0");
    scene.cluster.greet("ada", json!({ "name": "ada" })).await?;
    let mut scrape = until(&scene, passes, 1.0).await?;
    assert_eq!(
        scrape.value(r#"leader_election_master_status{name="relay"}"#),
        Some(1.0)
    );
    let calls = r#"windlass_host_calls_total{controller="relay",call="apply-status",result="ok"}"#;
    assert!(scrape.value(calls) >= Some(2.0), "{}", scrape.0);
    let workers = r#"controller_runtime_max_concurrent_reconciles{controller="relay"}"#;
    assert!(scrape.value(workers) >= Some(1.0), "{}", scrape.0);
    let held = r#"windlass_store_objects{group="examples.windlass.dev",resource="greetings"}"#;
    assert_eq!(scrape.value(held), Some(1.0), "{}", scrape.0);
    let bytes = held.replace("objects", "bytes");
    assert!(scrape.value(&bytes) > Some(100.0), "{}", scrape.0);
    let lost = held.replace("objects", "divergences_total");
    assert_eq!(scrape.value(&lost), Some(0.0), "{}", scrape.0);
    // The plugin's own numbers.
    let own = r#"plugin_relay_passes_total{controller="relay",version="v1"}"#;
    assert!(scrape.value(own) >= Some(1.0), "{}", scrape.0);
    let letters = r#"plugin_relay_letters{controller="relay",of="ada"}"#;
    assert_eq!(scrape.value(letters), Some(3.0));
    let buckets = scrape.series("plugin_relay_weight_bucket{");
    assert!(
        buckets.len() == 12 && buckets[11].contains(r#"le="+Inf""#),
        "{buckets:?}"
    );
    for variant in 2..5 {
        let info = scrape.series("windlass_plugin_info{")[0].to_owned();
        let done = scrape.value(passes);
        put(folder, "relay.wasm", &component(variant)?)?;
        let swapped = r#"windlass_reloads_total{controller="relay",result="swapped"}"#;
        scrape = until(&scene, swapped, f64::from(variant - 1)).await?;
        let infos = scrape.series("windlass_plugin_info{");
        assert!(
            infos.len() == 1 && infos[0] != info,
            "{infos:?} after {info}"
        );
        assert!(scrape.value(passes) >= done, "counters go on");
    }
    let document = relay(&scene.plugins, "relay", "v9", "");
    put(folder, "relay.yaml", document.to_string().as_bytes())?;
    let newest = r#"plugin_relay_passes_total{controller="relay",version="v9"}"#;
    let scrape = until(&scene, newest, 1.0).await?;
    assert_eq!(scrape.value(own), None, "what another version said is gone");
    std::fs::write(folder.join("relay.wasm"), "no component")?;
    let refused = r#"windlass_reloads_total{controller="relay",result="refused"}"#;
    let scrape = until(&scene, refused, 1.0).await?;
    assert_eq!(
        scrape.value(r#"windlass_plugin_state{controller="relay",state="running"}"#),
        Some(1.0)
    );
    std::fs::remove_file(folder.join("relay.yaml"))?;
    eventually(DEADLINE, "the plugin's series go with it", async || {
        let scrape = Scrape::of(&scene).await?;
        Ok((!scrape.0.contains("relay")).then_some(()))
    })
    .await?;
    assert!(scene.host.is_running());
    Ok(())
}

#[tokio::test]
async fn failures_are_counted_by_their_kind() -> Result<()> {
    let cluster = Cluster::new("counted").await?;
    let limits = json!({ "cpu": "100ms" });
    let plugins = Plugins::new(&cluster.namespace)?
        .hostile("panics", "panic", &limits, &[])?
        .hostile("spins", "spin", &limits, &[])?
        .hostile("fails", "garbage_failure", &limits, &[])?;
    let scene = Scene::start_with(cluster, plugins, &PORTS)?;
    scene.cluster.greet("ada", json!({ "name": "ada" })).await?;
    for (series, plugin) in [
        ("controller_runtime_reconcile_panics_total", "panics"),
        ("controller_runtime_reconcile_timeouts_total", "spins"),
        (
            "controller_runtime_terminal_reconcile_errors_total",
            "fails",
        ),
    ] {
        let of = |series: &str| format!(r#"{series}{{controller="{plugin}",kind="Greeting"}}"#);
        let scrape = until(&scene, &of(series), 1.0).await?;
        let errors = scrape.value(&of("controller_runtime_reconcile_errors_total"));
        assert!(errors >= Some(1.0), "{series} {errors:?}");
        let cpu = format!(r#"windlass_guest_cpu_seconds_total{{controller="{plugin}"}}"#);
        assert!(scrape.value(&cpu) > Some(0.0));
    }
    Ok(())
}

#[tokio::test]
async fn probes_say_that_a_host_lives_and_whether_its_plugins_do_their_work() -> Result<()> {
    let cluster = Cluster::new("probed").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.written_in(Greeter::Rust).greeter()?;
    let scene = Scene::start_with(cluster, plugins, &PORTS)?;
    // It has the Lease.
    scene.host.says("reconciling").await?;
    let second = scene.another_host(&PORTS)?;
    for (host, state) in [(&scene.host, "running"), (&second, "standing by")] {
        let probes = host.serves("probes").await?;
        assert_eq!(ask(&probes, "/livez")?, (200, "ok".to_owned()));
        let want = format!("[+]plugin/greeter ok: {state}");
        eventually(DEADLINE, &want, async || {
            let (status, text) = ask(&probes, "/readyz?verbose")?;
            if status == 200 && text.contains(&want) {
                Ok(Some(()))
            } else {
                anyhow::bail!("{status} {text}")
            }
        })
        .await?;
        assert_eq!(ask(&probes, "/readyz")?, (200, "ok".to_owned()));
        assert_eq!(ask(&probes, "/metrics")?.0, 404, "each on its port");
    }
    std::fs::write(scene.plugins.folder().join("bad.yaml"), "kind: nothing")?;
    scene.host.says("bad.yaml").await?;
    let probes = scene.host.serves("probes").await?;
    assert_eq!(ask(&probes, "/readyz")?.0, 200, "the others run");
    Ok(())
}

#[tokio::test]
async fn half_a_request_keeps_nobody_out_and_takes_no_file_descriptors() -> Result<()> {
    let cluster = Cluster::new("half-sent").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.written_in(Greeter::Rust).greeter()?;
    let ports = [&PORTS[..], &["--admin-bind-address=127.0.0.1:0"]].concat();
    let scene = Scene::start_with(cluster, plugins, &ports)?;
    scene.host.says("reconciling").await?;
    let mut addresses = Vec::new();
    for (what, path) in [
        ("metrics", "/metrics"),
        ("probes", "/readyz"),
        ("status", "/"),
    ] {
        addresses.push((scene.host.serves(what).await?, path));
    }
    let open = || -> Result<usize> {
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", scene.host.id()))?;
        Ok(descriptors.count())
    };
    let before = open()?;
    // So many at once that the process would have no descriptor left, if it kept them all.
    let mut held = std::collections::VecDeque::new();
    for _ in 0..1024 {
        for (address, _) in &addresses {
            let mut half = TcpStream::connect(address)?;
            write!(half, "GET / HTTP/1.1\r\nHost: ")?;
            held.push_back(half);
        }
        // This process has descriptors for some of them.
        while held.len() > 600 {
            held.pop_front();
        }
    }
    for (address, path) in &addresses {
        assert_eq!(ask(address, path)?.0, 200, "{path}");
    }
    // The host closes them after it has accepted them, on its own threads.
    eventually(DEADLINE, "few descriptors are open", async || {
        let after = open()?;
        if after < before + 3 * 64 + 50 {
            return Ok(Some(()));
        }
        bail!("{before} and then {after}")
    })
    .await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    Ok(())
}

#[tokio::test]
async fn the_status_is_a_table_for_people_and_a_document_for_tools() -> Result<()> {
    let cluster = Cluster::new("status").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let scene = Scene::start_with(cluster, plugins, &["--admin-bind-address=127.0.0.1:0"])?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    let address = scene.host.serves("status").await?;
    let (status, text) = ask(&address, "/")?;
    let row = text.lines().find(|line| line.starts_with("greeter "));
    assert!(
        status == 200 && row.is_some_and(|row| row.contains("running")),
        "{text}"
    );
    let (_, json) = ask(&address, "/?o=json")?;
    let document: Status = serde_json::from_str(&json)?;
    assert_eq!((&*document.kind, document.plugins.len()), ("Status", 1));
    let greeter = &document.plugins[0];
    assert!(
        greeter.passes.total > 0 && greeter.memory_limit == Some(64 << 20),
        "{json}"
    );
    assert_eq!(greeter.warnings, [], "{json}");
    // What it is granted and has never used: until it finalizes, it deletes nothing.
    let unused = || {
        let (_, json) = ask(&address, "/plugins/greeter?o=json")?;
        let details: PluginDetails = serde_json::from_str(&json)?;
        let unused = details.unused_grants.into_iter();
        let told = unused.map(|one| format!("{}: {}", one.resource, one.verbs.join(" ")));
        anyhow::Ok(told.collect::<Vec<_>>())
    };
    assert_eq!(
        unused()?,
        ["configmaps: delete", "deployments.apps: delete"]
    );
    scene.cluster.delete("Greeting", "ada").await?;
    scene.cluster.until_gone("Greeting", "ada").await?;
    assert_eq!(unused()?, ["deployments.apps: delete"]);
    // A page of another site cannot ask by its own name.
    let evil = address.replace("127.0.0.1", "evil.example");
    let (status, text) = ask_as(&address, &evil, "/")?;
    assert!(
        status == 421 && text.contains("localhost"),
        "{status} {text}"
    );
    Ok(())
}

#[tokio::test]
async fn what_fails_and_what_is_not_granted_is_told_until_it_is_over() -> Result<()> {
    let cluster = Cluster::new("failing").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.hostile("thief", "write_secret", &json!({}), &[])?;
    let ports = [PORTS[0], "--admin-bind-address=127.0.0.1:0"];
    let scene = Scene::start_with(cluster, plugins, &ports)?;
    scene.cluster.greet("ada", json!({ "name": "ada" })).await?;
    let failing = r#"windlass_failing_keys{controller="thief"}"#;
    until(&scene, failing, 1.0).await?;
    let address = scene.host.serves("status").await?;
    let status =
        |path: &str| -> Result<Status> { Ok(serde_json::from_str(&ask(&address, path)?.1)?) };
    let overview = status("/?o=json")?;
    let thief = &overview.plugins[0];
    let reasons: Vec<&str> = thief.warnings.iter().map(|it| &*it.reason).collect();
    assert_eq!(
        (thief.failing, &reasons[..]),
        (1, &["FailsForGood", "NotGranted"][..]),
        "{thief:#?}"
    );
    let namespace = &scene.cluster.namespace;
    let (_, why) = ask(
        &address,
        &format!("/why?kind=greeting&name=ada&namespace={namespace}"),
    )?;
    let denied = "\nDENIED     ";
    anyhow::ensure!(why.contains(denied) && why.contains("secrets"), "{why}");
    let (_, page) = ask(&address, "/plugins/thief")?;
    anyhow::ensure!(
        page.contains("\nFAILING    ") && page.contains("answer: denied"),
        "{page}"
    );
    // A document that cannot be read is wrong for all to see.
    let broken = scene.plugins.folder().join("broken.yaml");
    std::fs::write(&broken, "kind: Plugin\nspec: [")?;
    until(&scene, "windlass_config_problems", 1.0).await?;
    let problems = status("/?o=json")?.problems;
    anyhow::ensure!(
        problems.len() == 1 && problems[0].contains("broken.yaml"),
        "{problems:?}"
    );
    std::fs::remove_file(broken)?;
    scene.cluster.delete("Greeting", "ada").await?;
    eventually(DEADLINE, "nothing fails any more", async || {
        let scrape = Scrape::of(&scene).await?;
        let values = [failing, "windlass_config_problems"].map(|series| scrape.value(series));
        anyhow::ensure!(values == [Some(0.0), Some(0.0)], "{values:?}");
        Ok(Some(()))
    })
    .await
}
