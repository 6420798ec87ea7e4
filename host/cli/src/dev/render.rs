//! `windlass render`: what a plugin would write for objects, without writing anything.
//!
//! - The component runs in the sandbox of a host, on an API server in memory that holds the objects; its writes are
//!   answered as a smoke test's are, and noted.

use std::collections::BTreeMap;
use std::io::{Read, stdin};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use serde_json::Value;
use windlass_apiserver::options::Options;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

use super::apply::Applier;
use super::apply::refused;
use super::flags::RenderFlags;
use super::news::News;
use super::target::{Target, Version};
use crate::project::Maker;
use crate::project::objects::{Wanted, in_order, objects};
use windlass_base::error::Chain;
use windlass_base::screen::{Tone, print_document, print_json, print_status};
use windlass_base::seams::{Rng, Seams};
use windlass_base::text::{clean, counted};
use windlass_controller::recording::Function;
use windlass_egress::ApiServerAddresses;
use windlass_host::hosting::{DryRun, Host, Quarantine, Returned, UnservedPrimary};
use windlass_host::runtime::{HostDependencies, identity, wire};
use windlass_kube::api::{Api, Request, Resource};
use windlass_kube::flags::ObjectFormat;
use windlass_kube::lease::Times;
use windlass_kube::object::{Object, ObjectRef, Page};
use windlass_policy::manifest::PluginDocument;
use windlass_sandbox::cluster::CapturedWrite;
use windlass_sandbox::{Action, HttpMeans, Plugin, Progress, ServedPrimary, code_cache, sandboxes};
use windlass_view::{View, WatchSpec};
use windlass_yaml::comment;

/// The longest text of a guest that is shown.
const TEXT: usize = 2 << 10;
/// The namespace of what has none.
const HOME: &str = "default";

/// What would come of objects.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rendering {
    api_version: &'static str,
    kind: &'static str,
    calls: Vec<Rendered>,
}

/// What would come of one object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rendered {
    object: ObjectRef,
    /// What the plugin answers.
    returned: String,
    /// What went wrong.
    error: Option<String>,
    writes: Vec<WriteOf>,
}

/// A write that was not sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteOf {
    verb: &'static str,
    #[serde(flatten)]
    node: ObjectRef,
    body: Option<Value>,
}

/// Prints what the plugin would write for each object of its kind that is given.
///
/// # Errors
/// There is no such object, or a call failed.
pub async fn render(flags: RenderFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let target = Target::open(&flags.target)?;
    let server = repeatable_server(&seams);
    let means = host_dependencies(&server, &flags, threads, &seams)?;
    let wired = wire(means, &seams);
    let host = &wired.host;
    let wanted = given(&flags, &target)?;
    let (surroundings, objects) = wanted.into_iter().partition(Wanted::is_surroundings);
    put(surroundings, &server, host).await?;
    let maker = Maker {
        seams: seams.clone(),
    };
    let made = target.make(&maker, |command| {
        let _ = print_status(Tone::Good, "Building", command);
    });
    // A component may carry the kinds of the objects.
    let version = target.version(made.await?, host).await?;
    for news in &version.applied {
        print(news)?;
    }
    put(objects, &server, host).await?;
    let function = if flags.finalize {
        Function::Finalize
    } else {
        Function::Reconcile
    };
    let calls = call_all(&version, host, function).await?;
    let failed = calls.iter().filter(|call| call.error.is_some()).count();
    let number = calls.len();
    let rendering = Rendering {
        api_version: "windlass.dev/v1alpha1",
        kind: "Rendering",
        calls,
    };
    match flags.output {
        ObjectFormat::Yaml => print_document(&yaml(&rendering)?),
        ObjectFormat::Json => print_json(&(serde_json::to_string_pretty(&rendering)? + "\n")),
    }?;
    if failed > 0 {
        bail!("{failed} of {} failed", counted(number, "call"));
    }
    Ok(())
}

/// A server in memory on which UIDs are the same each time, so that two renderings can be compared; for that no
/// controller may make objects meanwhile.
fn repeatable_server(seams: &Seams) -> Server {
    let clock = seams.clock;
    let outside = server::Seams {
        clock: server::Clock::new(move || clock.wall()),
        rng: server::Rng::seeded(1),
    };
    Server::with(outside, Options::default())
}

/// What the host on `server` is made with.
fn host_dependencies(
    server: &Server,
    flags: &RenderFlags,
    threads: usize,
    seams: &Seams,
) -> anyhow::Result<HostDependencies> {
    // Chance in a call is the same each time, too.
    let repeatable = Seams {
        rng: Rng::seeded(1),
        ..seams.clone()
    };
    // It is in memory: it has no addresses.
    let servers = ApiServerAddresses::default();
    Ok(HostDependencies {
        api: Api::in_process(server.clone(), repeatable),
        namespace: HOME.to_owned(),
        protected_namespace: None,
        cache: code_cache(flags.code_cache.clone())?,
        last_good: None,
        quarantine: Quarantine::default(),
        sandboxes: sandboxes(threads, seams)?,
        identity: identity(seams),
        times: Times::default(),
        grace: super::GRACE,
        failures: None,
        http: Some(HttpMeans::new(seams, Arc::new(servers), BTreeMap::new())),
        registries: None,
        rolls_back: false,
    })
}

/// The objects of the project and of the files that are named: of the project alone its kinds, if there are files.
fn given(flags: &RenderFlags, target: &Target) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    if let Target::Project(_) = target {
        let held = target
            .inputs()
            .look()
            .context("cannot look at the project's files")?;
        for path in held.documents.keys() {
            wanted.extend(read(path)?);
        }
        if !flags.filename.is_empty() {
            wanted.retain(Wanted::is_surroundings);
        }
    }
    for path in &flags.filename {
        wanted.extend(read(path)?);
    }
    in_order(&mut wanted, |wanted| wanted);
    Ok(wanted)
}

fn read(path: &Path) -> anyhow::Result<Vec<Wanted>> {
    let mut text = String::new();
    if path == Path::new("-") {
        stdin().lock().read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text))
    }
    .with_context(|| format!("cannot read {}", path.display()))?;
    objects(path, &text).map_err(anyhow::Error::msg)
}

/// Puts objects there as they are in a cluster: with their UIDs, their status, and in whatever namespace they are.
async fn put(wanted: Vec<Wanted>, server: &Server, host: &Host) -> anyhow::Result<()> {
    let applier = Applier {
        api: &host.api,
        discovery: &host.discovery,
        clock: host.seams.clock,
        is_own: true,
    };
    for wanted in wanted {
        let (version, kind) = wanted.kind();
        let news = if wanted.is_definition() {
            applier.apply(&wanted).await
        } else if server.registry().of_kind(version, kind).is_none() {
            refused(&wanted, &wanted.unserved())
        } else {
            match server.give(wanted.object()) {
                Ok(()) => continue,
                Err(no) => refused(&wanted, &format!("{}: {}", wanted.title(), no.message)),
            }
        };
        print(&news)?;
    }
    Ok(())
}

fn print(applied: &News) -> anyhow::Result<()> {
    if let News::NotApplied { file, message } = applied {
        bail!("{file}: {message}");
    }
    Ok(())
}

/// Calls the plugin about each object of its kinds.
async fn call_all(
    version: &Version,
    host: &Arc<Host>,
    function: Function,
) -> anyhow::Result<Vec<Rendered>> {
    let document = &version.candidate.document;
    let loading = host.sandboxes.load(
        &document.name,
        &version.made.bytes,
        &document.config,
        document.limits,
        &host.cache,
    );
    let plugin = loading.await?;
    let mut calls = Vec::new();
    let description = &plugin.description;
    let document = &Box::pin(host.in_selected_namespaces(document)).await?;
    let primaries = host.served_primaries(description, &document.grants).await;
    let primaries = primaries.map_err(|problem| match problem {
        UnservedPrimary::Absent(_) => {
            anyhow!("{problem}: give its CustomResourceDefinition with -f")
        }
        UnservedPrimary::Unknown(error) => error.into(),
    })?;
    for ServedPrimary { watch, resource } in primaries {
        let Some(primary) = description.primaries.get(watch) else {
            continue;
        };
        let path = resource.path(None, None, None)?;
        let list = host.api.text(Request::get(path)).await?;
        let list = Page::of(list.get())?;
        for object in list.objects(&resource) {
            let watch_spec = description.watch_spec(
                (&*plugin.name, document.finalizer()),
                primary,
                resource.clone(),
            );
            let of = (&resource, &object);
            calls.push(call((&plugin, document), host, watch_spec, of, function).await);
        }
    }
    if calls.is_empty() {
        let kinds = plugin.description.kinds();
        bail!("there is no {kinds} to render: give one with -f");
    }
    Ok(calls)
}

async fn call(
    (plugin, document): (&Plugin, &PluginDocument),
    host: &Host,
    watch_spec: WatchSpec,
    of: (&Resource, &Object),
    function: Function,
) -> Rendered {
    let view = View::unwatched(watch_spec);
    let dry_run = host.dry_run((plugin, document), view, of, function);
    let DryRun {
        primary,
        answer,
        output,
        writes,
        ..
    } = dry_run.await;
    let (returned, error) = match answer {
        Ok(returned) => (returned_said(&returned), None),
        Err(error) => {
            let output = output.trim();
            let cause = Chain(&error).to_string();
            let whole = if output.is_empty() {
                cause
            } else {
                format!("{cause}: {output}")
            };
            ("failed".to_owned(), Some(clean(&whole, TEXT)))
        }
    };
    Rendered {
        object: ObjectRef::new(&primary.resource.kind, &primary.key),
        returned,
        error,
        writes: writes.into_iter().map(WriteOf::from).collect(),
    }
}

fn returned_said(returned: &Returned) -> String {
    match returned {
        Returned::Action(Action::AwaitChange) => "awaitChange".to_owned(),
        Returned::Action(Action::RequeueAfter(millis)) => format!("requeueAfter {millis} ms"),
        Returned::Progress(Progress::Done) => "done".to_owned(),
        Returned::Progress(Progress::Pending(millis)) => format!("pending {millis} ms"),
    }
}

impl From<CapturedWrite> for WriteOf {
    fn from(captured: CapturedWrite) -> Self {
        Self {
            verb: captured.verb,
            node: ObjectRef::new(&captured.kind, &captured.key),
            body: captured.body,
        }
    }
}

/// Documents for `kubectl apply -f -`: what is not applied or created is a comment.
fn yaml(rendering: &Rendering) -> anyhow::Result<String> {
    let mut out = String::new();
    for call in &rendering.calls {
        let head = format!("{}: {}", call.object, call.returned);
        out.push_str(&format!("# {}\n", comment(&head)));
        if let Some(error) = &call.error {
            out.push_str(&format!("# error: {}\n", comment(error)));
        }
        for write in &call.writes {
            let applied = matches!(write.verb, "apply" | "create");
            let text = match &write.body {
                Some(body) => serde_saphyr::to_string(body).context("cannot write YAML")?,
                None => String::new(),
            };
            let head = format!("{} {}", write.verb, write.node);
            out.push_str(&format!("---\n# {}\n", comment(&head)));
            for line in text.lines() {
                if applied {
                    out.push_str(&format!("{line}\n"));
                } else {
                    out.push_str(&format!("#   {}\n", comment(line)));
                }
            }
        }
    }
    Ok(out)
}
