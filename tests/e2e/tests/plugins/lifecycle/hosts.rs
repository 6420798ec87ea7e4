//! How a host tells what it does, how it ends, and how another one takes over.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::{
    ALL, Cluster, DEADLINE, Fault, FaultProxy, Greeter, Host, Line, Plugins, RequestHead, Rule,
    Scene, eventually, for_each_greeter,
};

use crate::lifecycle::read;

/// Leases that change hands while a test waits.
const SHORT_LEASE: [&str; 3] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=200ms",
];

for_each_greeter!(Result<()> =>
    a_pass_has_one_line_in_the_log_which_counts_its_requests,
    after_sigterm_a_running_pass_ends_and_the_host_exits_with_0,
    a_second_sigterm_aborts_a_running_pass,
    after_sighup_the_lease_is_given_up_and_the_host_exits_with_0,
    of_two_hosts_one_runs_the_plugin_and_the_other_takes_over_when_it_stops,
    of_two_hosts_one_runs_the_plugin_and_the_other_takes_over_when_it_dies,
);

async fn a_pass_has_one_line_in_the_log_which_counts_its_requests(greeter: Greeter) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "lines").await?;
    let cluster = &scene.cluster;
    let names = ["ada", "bob", "eve"];
    for name in names {
        cluster
            .greet(name, json!({ "name": name, "replicas": 0 }))
            .await?;
    }
    for name in names {
        cluster.until_ready(name).await?;
        cluster.delete("Greeting", name).await?;
    }
    for name in names {
        cluster.until_gone("Greeting", name).await?;
        let object = scene.greeting(name);
        let last = |line: &Line| line.is_pass(&object, "finalize", "rest");
        scene.host.logs("the last pass is in the log", last).await?;
        let passes = scene.host.passes(&object);
        let of_step = |step| {
            let of_step = passes.iter().filter(|pass| pass.field("step") == step);
            of_step.count()
        };
        assert_eq!(of_step("protect"), 1, "{passes:#?}");
        assert_eq!(of_step("finalize"), 1, "{passes:#?}");
        assert!(
            passes.iter().all(|pass| {
                pass.field("plugin") == "greeter"
                    && pass.fields["elapsed_ms"].is_number()
                    && pass.fields["cpu_ms"].is_number()
                    && pass.fields["memory"].is_number()
            }),
            "{passes:#?}"
        );
    }
    scene.host.terminate()?;
    scene.host.ended().await?;
    // The host's own requests about a Greeting put the finalizer on and take it off.
    let log = proxy.log();
    let named = log.iter().filter(|record| {
        let of_guest = ["/configmaps/", "/deployments/"];
        record.path.ends_with("/status") || of_guest.iter().any(|part| record.path.contains(part))
    });
    let counted: u64 = names
        .iter()
        .flat_map(|name| scene.host.passes(&scene.greeting(name)))
        .filter_map(|pass| pass.number("requests"))
        .sum();
    assert_eq!(named.count(), usize::try_from(counted)?);
    Ok(())
}

async fn after_sigterm_a_running_pass_ends_and_the_host_exits_with_0(
    greeter: Greeter,
) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "drain").await?;
    hold_a_pass(&scene, &proxy).await?;
    scene.host.terminate()?;
    scene.host.says("stopping").await?;
    assert!(scene.host.is_running());
    proxy.release();
    let status = scene.host.ended().await?;
    assert_eq!(status.code(), Some(0), "{:#?}", scene.host.log());
    let object = scene.greeting("ada");
    scene
        .host
        .logs("the pass has ended well", |line| {
            line.is_pass(&object, "reconcile", "rest")
        })
        .await?;
    scene.cluster.until_ready("ada").await?;
    assert_eq!(holder(&scene.cluster).await?, "", "the lease is given up");
    Ok(())
}

async fn a_second_sigterm_aborts_a_running_pass(greeter: Greeter) -> Result<()> {
    let (scene, proxy) = Scene::greeter_behind_proxy(greeter, "abort").await?;
    hold_a_pass(&scene, &proxy).await?;
    scene.host.terminate()?;
    scene.host.says("stopping").await?;
    scene.host.terminate()?;
    scene.host.says("aborting running passes").await?;
    let status = scene.host.ended().await?;
    assert_eq!(status.code(), Some(0), "{:#?}", scene.host.log());
    let greeting = read(&scene.cluster, "Greeting", "ada").await?;
    assert!(greeting.get("status").is_none(), "the pass did not end");
    Ok(())
}

async fn after_sighup_the_lease_is_given_up_and_the_host_exits_with_0(
    greeter: Greeter,
) -> Result<()> {
    let (scene, _proxy) = Scene::greeter_behind_proxy(greeter, "hangup").await?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    assert_ne!(holder(&scene.cluster).await?, "");
    scene.host.hang_up()?;
    if ignores_hangups()? {
        // So does the host, which is our child.
        scene.host.terminate()?;
    }
    let status = scene.host.ended().await?;
    assert_eq!(status.code(), Some(0), "{:#?}", scene.host.log());
    assert_eq!(holder(&scene.cluster).await?, "", "the lease is given up");
    Ok(())
}

/// Whether this test was started by `nohup`.
fn ignores_hangups() -> Result<bool> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap_or_default().trim(), 16)?;
    Ok(ignored & 1 == 1)
}

/// Makes a Greeting, and holds the pass that is about to report its status.
async fn hold_a_pass(scene: &Scene, proxy: &FaultProxy) -> Result<()> {
    let status = |head: &RequestHead| head.path.ends_with("/greetings/ada/status");
    proxy.set_rules([Rule::new("status", status, Fault::Hold)]);
    let spec = json!({ "name": "Ada" });
    scene.cluster.greet("ada", spec).await?;
    eventually(DEADLINE, "a pass is about to report", async || {
        Ok((proxy.count("status") > 0).then_some(()))
    })
    .await
}

async fn of_two_hosts_one_runs_the_plugin_and_the_other_takes_over_when_it_stops(
    greeter: Greeter,
) -> Result<()> {
    let two = Two::hosts(greeter, "two-stop").await?;
    two.scene.host.terminate()?;
    assert_eq!(two.scene.host.ended().await?.code(), Some(0));
    two.second_takes_over().await
}

async fn of_two_hosts_one_runs_the_plugin_and_the_other_takes_over_when_it_dies(
    greeter: Greeter,
) -> Result<()> {
    let two = Two::hosts(greeter, "two-die").await?;
    two.scene.host.kill();
    two.second_takes_over().await
}

#[tokio::test]
async fn what_a_javascript_plugin_throws_is_in_the_log_with_its_file_and_line() -> Result<()> {
    let cluster = Cluster::new("clumsy").await?;
    let plugins = Plugins::new(&cluster.namespace)?.component("clumsy-js", "clumsy.wasm")?;
    let resources = &["greetings", "greetings/status"];
    let document = json!({
        "source": { "file": "clumsy.wasm" },
        "config": { "mistake": "typeError" },
        "grants": [
            plugins.grant("examples.windlass.dev", resources, &["get", "list", "watch", "patch"]),
            plugins.grant("", &["configmaps"], ALL),
        ],
    });
    let scene = Scene::start(cluster, plugins.document("clumsy", &document)?)?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let object = scene.greeting("ada");
    let failed = |line: &Line| line.is_pass(&object, "reconcile", "transient");
    let failed = scene.host.logs("the pass fails", failed).await?;
    let source = include_str!("../../../../clumsy-js/src/clumsy.js");
    let marked = source
        .lines()
        .position(|line| line.ends_with("// place: typeError"));
    let place = marked.map(|line| format!("(src/clumsy.js:{})", line + 1));
    let says = "TypeError: cannot read property 'field' of undefined";
    assert!(failed.message.contains(says), "{failed:?}");
    assert!(
        failed.message.contains(&place.unwrap_or_default()),
        "{failed:?}"
    );
    Ok(())
}

/// Two hosts with the same plugin: the scene's own came first.
struct Two {
    scene: Scene,
    second: Host,
}

impl Two {
    /// Starts two hosts; the first one has the lease and makes a Greeting ready.
    async fn hosts(greeter: Greeter, prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?;
        let plugins = plugins.written_in(greeter).greeter()?;
        let first = [&SHORT_LEASE[..], &["--identity=first"]].concat();
        let scene = Scene::start_with(cluster, plugins, &first)?;
        scene.host.says("reconciling").await?;
        let second = scene.another_host(&[&SHORT_LEASE[..], &["--identity=second"]].concat())?;
        let waits = second
            .says("waiting: another host runs this plugin")
            .await?;
        assert_eq!(waits.field("holder"), "first");
        scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
        scene.cluster.until_ready("ada").await?;
        assert!(second.passes(&scene.greeting("ada")).is_empty());
        Ok(Self { scene, second })
    }

    async fn second_takes_over(self) -> Result<()> {
        let cluster = &self.scene.cluster;
        self.second.says("reconciling").await?;
        assert_eq!(holder(cluster).await?, "second");
        cluster.greet("bob", json!({ "name": "Bob" })).await?;
        cluster.until_ready("bob").await?;
        let bob = self.scene.greeting("bob");
        ensure!(!self.second.passes(&bob).is_empty());
        ensure!(self.scene.host.passes(&bob).is_empty());
        Ok(())
    }
}

/// Who holds the greeter's lease.
async fn holder(cluster: &Cluster) -> Result<String> {
    let lease = read(cluster, "Lease", "windlass-greeter").await?;
    let holder = lease.pointer("/spec/holderIdentity");
    Ok(holder
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned())
}
