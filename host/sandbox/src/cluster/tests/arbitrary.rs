//! Every import of the contract with arbitrary arguments, from a seed: none panics, none traps the guest, and a run
//! keeps little of them.
//!
//! - The imports are read from `wit/`: one that has no arguments here fails the test.
//! - `WINDLASS_FUZZ_SEED` is the first seed, and `WINDLASS_FUZZ_RUNS` says how many seeds follow.

mod values;

use std::collections::BTreeMap;

use super::*;
use crate::bindings::{clock, cluster, config, events, http, log, memory, metrics, rates};
use crate::limiter::Limiter;
use crate::redact::Redactor;
use crate::sandbox::SandboxState;
use crate::shares::Shares;
use crate::{Cancel, wasi};
use values::Arbitrary;
use wasmtime::component::ResourceTable;
use windlass_base::memory::{Bounds, Budget};
use windlass_policy::manifest::Limits;
use wit_parser::{Resolve, WorldItem};

/// Calls of imports in one run of a primary.
const CALLS: usize = 100;
/// Runs, each from its own seed, unless more are asked for.
const RUNS: u64 = 40;
/// Bytes that the journal of one run may keep, as text.
const JOURNAL: usize = 256 << 10;

/// The imports of the contract, as `interface.function`.
fn imports() -> Vec<String> {
    let mut resolve = Resolve::default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit");
    let (package, _) = resolve.push_dir(folder).unwrap();
    let world = resolve.select_world(&[package], Some("plugin")).unwrap();
    let mut imports = Vec::new();
    for item in resolve.worlds[world].imports.values() {
        let WorldItem::Interface { id, .. } = item else {
            panic!("the world imports something else than interfaces: {item:?}");
        };
        let interface = &resolve.interfaces[*id];
        let name = interface.name.as_deref().unwrap();
        let functions = interface.functions.keys();
        imports.extend(functions.map(|function| format!("{name}.{function}")));
    }
    imports
}

/// A number from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => default,
    }
}

/// What the imports of one call work on.
#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
fn state(call: Call, account: &Account) -> SandboxState {
    let (wasi, _) = wasi::context(start(), [0; 32]);
    let seams = Seams {
        clock: Clock::starting_at(start()),
        rng: Rng::seeded(1),
        spawn: Spawn::inline(tokio::runtime::Handle::current()),
    };
    let share = Shares::new(1, &seams).join("greeter".into(), &Limits::default());
    SandboxState {
        wasi,
        table: ResourceTable::new(),
        sleeps: crate::wasi::Sleeps::default(),
        limiter: Limiter::new(64 << 20, account),
        cancel: Cancel::default(),
        object: call.primary().to_string(),
        call: Some(call),
        player: None,
        plugin: "greeter".into(),
        config: "{}".into(),
        now: start(),
        redactor: Redactor::on(account),
        share: Arc::new(share),
        log_lines_left: 200,
        spans_left: 200,
    }
}

/// Calls one import. An error is a trap.
async fn call(state: &mut SandboxState, import: &str, any: &Arbitrary) -> wasmtime::Result<()> {
    let subresources = ["status", "scale", "", "exec", "..", "token", "eviction"];
    let subresource = any.text(&subresources);
    match import {
        "cluster.get" => drop(
            cluster::Host::get(
                state,
                any.reference(),
                any.maybe(subresource),
                any.consistency(),
            )
            .await?,
        ),
        "cluster.list" => drop(cluster::Host::list(state, any.query()).await?),
        "cluster.select" => {
            let paths = [
                ".metadata.name",
                ".data['a.b']",
                ".spec.c[*].d",
                ".metadata",
                ".",
                "[*]",
                ".data[",
            ];
            let paths = (0..any.below(8)).map(|_| any.text(&paths)).collect();
            drop(cluster::Host::select(state, any.query(), paths).await?);
        }
        "cluster.list-children" => {
            drop(cluster::Host::list_children(state, any.children_query()).await?);
        }
        "cluster.unchanged-for" => {
            drop(cluster::Host::unchanged_for(state, any.reference()).await?);
        }
        "cluster.kinds" => drop(cluster::Host::kinds(state).await?),
        "cluster.adopt" => {
            let (target, uid) = (any.reference(), any.noise());
            let (owner, finalizer) = (any.maybe(any.reference()), any.maybe(any.finalizer()));
            drop(cluster::Host::adopt(state, target, uid, owner, finalizer).await?);
        }
        "cluster.disown" => {
            let (target, uid) = (any.reference(), any.noise());
            let (owners, finalizer) = (vec![any.noise()], any.maybe(any.finalizer()));
            drop(cluster::Host::disown(state, target, uid, owners, finalizer).await?);
        }
        "cluster.hold" => {
            let (target, uid) = (any.reference(), any.noise());
            drop(cluster::Host::hold(state, target, uid, any.finalizer()).await?);
        }
        "cluster.release" => {
            let (target, uid) = (any.reference(), any.noise());
            drop(cluster::Host::release(state, target, uid, any.finalizer()).await?);
        }
        "cluster.release-many" => {
            let target = |_| (any.reference(), any.noise());
            let targets = (0..any.below(40)).map(target).collect();
            drop(cluster::Host::release_many(state, targets, any.finalizer()).await?);
        }
        "cluster.protect" => drop(cluster::Host::protect(state).await?),
        "cluster.apply" => drop(cluster::Host::apply(state, any.object()).await?),
        "cluster.apply-status" => drop(cluster::Host::apply_status(state, any.object()).await?),
        "cluster.apply-set" => {
            let set = (0..any.below(4)).map(|_| any.object()).collect();
            drop(cluster::Host::apply_set(state, set).await?);
        }
        "cluster.create" => drop(cluster::Host::create(state, any.object()).await?),
        "cluster.create-many" => {
            let objects = (0..any.below(40)).map(|_| any.object()).collect();
            drop(cluster::Host::create_many(state, objects).await?);
        }
        "cluster.create-subresource" => drop(
            cluster::Host::create_subresource(state, any.reference(), subresource, any.object())
                .await?,
        ),
        "cluster.update-subresource" => drop(
            cluster::Host::update_subresource(state, any.reference(), subresource, any.object())
                .await?,
        ),
        "cluster.patch" => {
            let kind = any.maybe(PatchType::Json).unwrap_or(PatchType::Merge);
            let subresource = any.maybe(subresource);
            drop(
                cluster::Host::patch(state, any.reference(), subresource, kind, any.patch())
                    .await?,
            );
        }
        "cluster.delete" => {
            drop(cluster::Host::delete(state, any.reference(), any.delete_options()).await?);
        }
        "cluster.delete-many" => {
            let target = |_| (any.reference(), any.delete_options());
            let targets = (0..any.below(40)).map(target).collect();
            drop(cluster::Host::delete_many(state, targets).await?);
        }
        "cluster.delete-all" => {
            drop(cluster::Host::delete_all(state, any.query(), any.delete_options()).await?);
        }
        "http.fetch" => {
            let header = |_| http::Header {
                name: any.noise(),
                value: any.noise(),
            };
            let request = http::Request {
                method: any.text(&["GET", "PUT", "get", "CONNECT", ""]).to_owned(),
                url: any
                    .text(&[
                        "https://a.example",
                        "http://[::1]/",
                        "//",
                        "file:///etc/passwd",
                    ])
                    .to_owned()
                    + &any.noise(),
                headers: (0..any.below(5)).map(header).collect(),
                body: any.noise().into_bytes(),
                timeout_ms: any.maybe(7),
                credential: any.maybe(any.noise()),
            };
            drop(http::Host::fetch(state, request).await?);
        }
        "events.publish" => events::Host::publish(state, any.event()).await?,
        "log.log" => {
            let field = |_| log::Field {
                key: any.noise(),
                value: any.noise(),
            };
            let fields = (0..any.below(40)).map(field).collect();
            log::Host::log(state, log::Level::Trace, any.noise(), fields).await?;
        }
        "metrics.add" => metrics::Host::add(state, any.name(), any.labels(), any.float()).await?,
        "metrics.set" => metrics::Host::set(state, any.name(), any.labels(), any.float()).await?,
        "metrics.observe" => {
            metrics::Host::observe(state, any.name(), any.labels(), any.float()).await?;
        }
        "memory.recall" => drop(memory::Host::recall(state).await?),
        "memory.keep" => {
            let bytes = usize::try_from(any.below(20 << 10)).unwrap();
            memory::Host::keep(state, vec![1; bytes]).await?;
        }
        "rates.take" => {
            let number = |below| u32::try_from(any.below(below)).unwrap();
            let rates = (number(1 << 32), number(3));
            let _ = rates::Host::take(state, any.noise(), rates.0, rates.1).await?;
        }
        "config.get" => drop(config::Host::get(state).await?),
        "clock.now" => drop(clock::Host::now(state).await?),
        "clock.wake-at" => {
            let times = ["2026-11-21T09:30:00Z", "0000-00-00", "9999-12-31T23:59:59Z"];
            clock::Host::wake_at(state, any.text(&times)).await?;
        }
        other => panic!("{other} has no arguments: add them here"),
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn no_import_panics_or_traps_whatever_it_is_given_and_a_run_keeps_little() {
    let world = World::new().await;
    let imports = imports();
    let names: Vec<&str> = imports.iter().map(String::as_str).collect();
    let mut called: BTreeMap<&str, u64> = BTreeMap::new();
    let first = setting("WINDLASS_FUZZ_SEED", 0);
    for seed in first..first + setting("WINDLASS_FUZZ_RUNS", RUNS) {
        let any = Arbitrary(Rng::seeded(seed));
        let account = Account::new(Budget::new(usize::MAX), Bounds::NONE);
        let mut state = state(world.call().await, &account);
        for number in 0..CALLS {
            let import = any.one_of(&names);
            let answer = call(&mut state, import, &any).await;
            assert!(
                answer.is_ok(),
                "seed {seed}, call {number}, {import}: {answer:?}"
            );
            *called.entry(import).or_default() += 1;
        }
        let journal = format!(
            "{:?}",
            world.cluster.view.ends(&Key::new(Some("default"), "ada"))
        );
        assert!(
            journal.len() <= JOURNAL,
            "seed {seed} keeps {} bytes",
            journal.len()
        );
        drop(state);
        assert_eq!(account.used(), 0, "seed {seed}: the call has ended");
    }
    // Nothing is covered that was not called.
    let never = names.iter().find(|import| !called.contains_key(*import));
    assert_eq!(never, None, "{called:?}");
}
