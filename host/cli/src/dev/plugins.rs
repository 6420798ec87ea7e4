//! Watches the plugins of the host: what became of their versions, and what their passes did.

use std::sync::Arc;
use std::time::Duration;

use super::news::News;
use super::tell::Teller;
use windlass_base::text::clean;
use windlass_controller::controller::Record;
use windlass_controller::metrics::{PluginMetrics, PluginStage};
use windlass_host::hosting::Host;
use windlass_host::why::PassAnswer;
use windlass_kube::object::ObjectRef;

/// So many passes wait to be told.
const WAITING: usize = 4096;

/// A plugin that stands by for so long waits for another host.
const STANDBY: Duration = Duration::from_secs(3);

/// The longest name of a host that is shown.
const HOLDER: usize = 200;

/// What was told of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Told {
    /// The digest of the version that runs.
    running: Option<String>,
    /// Why it, or a new version, does not.
    held: Option<String>,
}

/// Tells what becomes of `plugin`, without end.
pub(super) async fn watch(host: Arc<Host>, plugin: String, teller: Teller) {
    let meters = host.metrics.of(&plugin);
    let (mut moves, mut passes) = (meters.moves(), host.records.of(&plugin).follow(WAITING));
    let mut told = Told::default();
    loop {
        let moved = async {
            // The meters hold the sender.
            let _ = moves.changed().await;
            if meters.stage() == PluginStage::StandingBy {
                // Mostly it has the Lease in a moment.
                tokio::select! {
                    biased;
                    _ = moves.changed() => {}
                    () = host.seams.clock.sleep(STANDBY) => {}
                }
            }
        };
        let record = tokio::select! {
            biased;
            () = moved => None,
            record = passes.recv() => match record {
                Some(record) => Some(record),
                None => return,
            },
        };
        // What moved before the pass is told before it.
        tell_moves(&meters, &plugin, &mut told, &teller);
        if let Some(record) = record {
            teller.print(&pass(&plugin, &record));
        }
    }
}

fn tell_moves(meters: &PluginMetrics, plugin: &str, told: &mut Told, teller: &Teller) {
    let about = meters.about().map(|about| about.digest);
    let holder = meters.holder();
    let held = held(&meters.stage(), holder, meters.refusal());
    for news in moved(plugin, &meters.stage(), about, held, told) {
        teller.print(&news);
    }
}

/// What is new since it was told last.
fn moved(
    plugin: &str,
    stage: &PluginStage,
    digest: Option<String>,
    held: Option<String>,
    told: &mut Told,
) -> Vec<News> {
    let mut news = Vec::new();
    let plugin = plugin.to_owned();
    if stage.is_running()
        && let Some(digest) = digest
        && told.running.as_ref() != Some(&digest)
    {
        let before = told.running.replace(digest.clone());
        news.push(News::Running {
            plugin: plugin.clone(),
            digest,
            before,
        });
    }
    if held != told.held {
        told.held.clone_from(&held);
        news.extend(held.map(|message| News::Held { plugin, message }));
    }
    news
}

/// Why a plugin, or a new version of it, does not run. A Lease that no other host has is taken in a moment.
fn held(stage: &PluginStage, holder: Option<String>, refusal: Option<String>) -> Option<String> {
    refusal.or_else(|| match stage {
        PluginStage::Refused(why)
        | PluginStage::Quarantined(why)
        | PluginStage::Waiting(why)
        | PluginStage::Forbidden(why)
        | PluginStage::SlowedDown(why) => Some(why.clone()),
        PluginStage::StandingBy => holder.map(|holder| {
            let holder = clean(&holder, HOLDER);
            format!("{holder} has its Lease, so this host is on standby")
        }),
        PluginStage::Loading | PluginStage::Syncing | PluginStage::Running => None,
    })
}

fn pass(plugin: &str, record: &Record) -> News {
    News::Pass {
        plugin: plugin.to_owned(),
        object: ObjectRef::new(&record.primary.resource.kind, &record.primary.key),
        next_ms: record
            .next
            .map(|next| u64::try_from(next.as_millis()).unwrap_or(u64::MAX)),
        pass: Box::new(PassAnswer::of(record, Duration::ZERO)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_move_is_told_once() {
        let mut told = Told::default();
        let mut step = |stage: PluginStage, digest: &str, refusal: Option<&str>| -> Vec<String> {
            let digest = Some(digest.to_owned());
            let held = held(&stage, None, refusal.map(str::to_owned));
            let news = moved("p", &stage, digest, held, &mut told);
            news.iter()
                .map(|news| news.message().1.to_owned())
                .collect()
        };
        let waiting = || PluginStage::Waiting("no kind".into());
        assert_eq!(step(waiting(), "a", None), ["Held"]);
        assert_eq!(step(waiting(), "a", None), [""; 0]);
        assert_eq!(step(PluginStage::Syncing, "a", None), [""; 0]);
        assert_eq!(step(PluginStage::Running, "a", None), ["Running"]);
        assert_eq!(step(PluginStage::Running, "a", Some("bad")), ["Held"]);
        assert_eq!(step(PluginStage::Running, "b", None), ["Swapped"]);
        assert_eq!(
            step(PluginStage::Running, "b", Some("bad")),
            ["Held"],
            "again"
        );
    }

    #[test]
    fn only_a_lease_that_another_host_has_holds_a_plugin_back() {
        let held =
            |holder: Option<&str>| held(&PluginStage::StandingBy, holder.map(str::to_owned), None);
        assert_eq!(held(None), None);
        let other = held(Some("other"));
        let said = "other has its Lease, so this host is on standby";
        assert_eq!(other.as_deref(), Some(said));
    }
}
