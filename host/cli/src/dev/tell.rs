//! Says what happened, at once and in order: a build's own words come between ours.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use serde::Serialize;

use super::news::News;
use windlass_base::screen::{Tone, print_json, print_status_at};
use windlass_base::seams::{Clock, time_of_day, watch};
use windlass_base::text::shell_word;
use windlass_host::why::PassAnswer;
use windlass_kube::connect::ClusterFlags;
use windlass_kube::flags::OutputFormat;
use windlass_kube::object::ObjectRef;

/// The one that says it. Clones are the same.
#[derive(Clone)]
pub(super) struct Teller {
    output: OutputFormat,
    clock: Clock,
    zone: TimeZone,
    kubectl: Arc<str>,
    heard: Arc<watch::Sender<bool>>,
    last: Arc<Mutex<Last>>,
}

/// What was told last.
#[derive(Default)]
struct Last {
    /// The object that was reconciled last.
    object: Option<ObjectRef>,
    /// The last pass over each object whose last pass failed.
    failed: BTreeMap<ObjectRef, PassAnswer>,
}

impl Last {
    fn of(&self, news: &News) -> Option<&PassAnswer> {
        match news {
            News::Pass { object, .. } => self.failed.get(object),
            _ => None,
        }
    }

    fn take(&mut self, news: &News) {
        if let News::Pass { object, pass, .. } = news {
            self.object = Some(object.clone());
            match pass.error {
                Some(_) => self.failed.insert(object.clone(), (**pass).clone()),
                None => self.failed.remove(object),
            };
        }
    }
}

/// A piece of news as a document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewsDocument<'a> {
    api_version: &'static str,
    kind: &'static str,
    time: String,
    #[serde(flatten)]
    news: &'a News,
}

impl Teller {
    /// Says it with the time of `clock` in `zone`.
    pub(super) fn new(output: OutputFormat, clock: Clock, zone: TimeZone) -> Self {
        Self {
            output,
            clock,
            zone,
            kubectl: "kubectl".into(),
            heard: Arc::new(watch::Sender::new(true)),
            last: Arc::default(),
        }
    }

    /// Says from now on how kubectl reaches `cluster`: by itself it goes wherever its user works otherwise.
    pub(super) fn of(self, cluster: &ClusterFlags) -> Self {
        let kubectl = kubectl(cluster).into();
        Self { kubectl, ..self }
    }

    /// How kubectl reaches the cluster.
    pub(super) fn kubectl(&self) -> &str {
        &self.kubectl
    }

    /// Says it: to standard error for people, or a line of JSON to standard output.
    pub(super) fn print(&self, news: &News) {
        let mut last = self.last.lock();
        let told = match self.output {
            OutputFormat::Text => {
                let before = last.of(news);
                let (tone, verb, text) = news.message_after(before);
                print_status_at(&self.time(), tone, verb, &text)
            }
            OutputFormat::Json => document(news, self.clock.wall()),
        };
        last.take(news);
        drop(last);
        self.was_heard(&told);
    }

    /// Says something that only people need.
    pub(super) fn hint(&self, tone: Tone, verb: &str, text: &str) {
        if self.output == OutputFormat::Text {
            self.was_heard(&print_status_at(&self.time(), tone, verb, text));
        }
    }

    fn time(&self) -> String {
        time_of_day(self.clock.wall(), &self.zone)
    }

    /// The object that was reconciled last.
    pub(super) fn last(&self) -> Option<ObjectRef> {
        let last = self.last.lock();
        last.object.clone()
    }

    /// Waits until nobody listens any more: the terminal is gone.
    pub(super) async fn alone(&self) {
        // This holds the sender.
        let _ = self.heard.subscribe().wait_for(|heard| !*heard).await;
    }

    fn was_heard(&self, told: &io::Result<()>) {
        if told.is_err() {
            self.heard.send_replace(false);
        }
    }
}

/// How kubectl reaches `cluster`, for a shell.
fn kubectl(cluster: &ClusterFlags) -> String {
    let mut command = "kubectl".to_owned();
    if let Some(file) = &cluster.kubeconfig {
        let file = file.display().to_string();
        command.push_str(&format!(" --kubeconfig {}", shell_word(&file)));
    }
    if let Some(context) = &cluster.context {
        command.push_str(&format!(" --context {}", shell_word(context)));
    }
    command
}

fn document(news: &News, wall: Timestamp) -> io::Result<()> {
    let document = NewsDocument {
        api_version: "windlass.dev/v1alpha1",
        kind: "DevEvent",
        time: wall.to_string(),
        news,
    };
    print_json(&(serde_json::to_string(&document)? + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectl_is_told_which_cluster_it_is() {
        let said = |kubeconfig: Option<&str>, context: Option<&str>| {
            let cluster = ClusterFlags {
                kubeconfig: kubeconfig.map(Into::into),
                context: context.map(str::to_owned),
                namespace: None,
            };
            kubectl(&cluster)
        };
        let rows = [
            (None, None, "kubectl"),
            (
                Some(".windlass/kubeconfig"),
                None,
                "kubectl --kubeconfig .windlass/kubeconfig",
            ),
            (
                Some("a b/k"),
                Some("kind-c"),
                "kubectl --kubeconfig 'a b/k' --context kind-c",
            ),
        ];
        for (kubeconfig, context, want) in rows {
            assert_eq!(said(kubeconfig, context), want);
        }
    }
}
