//! The pages: what is served as text and JSON too, for a browser. Rendered here, without a framework.

use std::time::Duration;

use askama::Template;

use crate::status::{GrantStatus, KeyStatus, PluginDetails, PluginStatus, Status, Warning};
use crate::why::{Explanation, text};
use windlass_base::text::{format_duration, mebibytes};

/// The style sheet of all pages.
pub(super) const STYLE: &str = include_str!("../../templates/style.css");
/// What keeps them new.
pub(super) const REFRESH: &str = include_str!("../../templates/refresh.js");

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview<'a> {
    status: &'a Status,
    up: String,
    rows: Vec<PluginRow<'a>>,
    warnings: Vec<(&'a str, &'a Warning)>,
    /// What plugins say that no warning says.
    messages: Vec<(&'a str, &'a str)>,
}

#[derive(Template)]
#[template(path = "plugin.html")]
struct PluginPage<'a> {
    status: &'a PluginStatus,
    row: PluginRow<'a>,
    limit: String,
    unused: &'a [GrantStatus],
    sections: [KeySection; 2],
}

#[derive(Template)]
#[template(path = "why.html")]
struct Why<'a> {
    answer: &'a Explanation,
    text: String,
}

/// A plugin, as its row shows it.
struct PluginRow<'a> {
    plugin: &'a PluginStatus,
    kind: String,
    version: &'a str,
    digest: &'a str,
    oldest: String,
    points: String,
    p50: String,
    p99: String,
    memory: String,
    cpu: String,
}

struct KeySection {
    head: &'static str,
    keys: Vec<KeyRow>,
}

struct KeyRow {
    link: String,
    object: String,
    took: String,
    failures: String,
    since: String,
    next: String,
    returned: String,
    error: String,
}

/// All plugins.
pub(super) fn overview(status: &Status) -> askama::Result<String> {
    let plugins = status.plugins.iter();
    let warnings = plugins.clone().flat_map(|plugin| {
        let all = plugin.warnings.iter();
        all.map(|warning| (&*plugin.name, warning))
    });
    let messages = plugins
        .clone()
        .filter_map(|plugin| Some((&*plugin.name, plugin.own_message()?)));
    let page = Overview {
        status,
        up: format_duration(Duration::from_millis(status.up_ms)),
        rows: plugins.map(row).collect(),
        warnings: warnings.collect(),
        messages: messages.collect(),
    };
    page.render()
}

/// One plugin.
pub(super) fn plugin(details: &PluginDetails) -> askama::Result<String> {
    let status = &details.status;
    let section = |head, keys: &[KeyStatus]| KeySection {
        head,
        keys: keys.iter().map(key_row).collect(),
    };
    let limit = status
        .memory_limit
        .map(|limit| format!(", of {} MiB", limit >> 20));
    let page = PluginPage {
        status,
        row: row(status),
        limit: limit.unwrap_or_default(),
        unused: &details.unused_grants,
        sections: [
            section("Failing", &details.failing),
            section("Slowest", &details.slowest),
        ],
    };
    page.render()
}

/// One object.
pub(super) fn why(answer: &Explanation) -> askama::Result<String> {
    let page = Why {
        answer,
        text: text(answer),
    };
    page.render()
}

fn row(plugin: &PluginStatus) -> PluginRow<'_> {
    let passes = &plugin.passes;
    let took = |micros: u64| match passes.total {
        0 => String::new(),
        _ => format_duration(Duration::from_micros(micros)),
    };
    let cpu = Duration::try_from_secs_f64(plugin.cpu_seconds).unwrap_or_default();
    PluginRow {
        plugin,
        kind: plugin.kinds(),
        version: plugin.version.as_deref().unwrap_or("<none>"),
        digest: plugin.digest.as_deref().unwrap_or_default(),
        oldest: format_duration(Duration::from_millis(plugin.oldest_ms)),
        points: points(&plugin.sparkline),
        p50: took(passes.p50_us),
        p99: took(passes.p99_us),
        memory: mebibytes(plugin.memory_peak),
        cpu: format_duration(cpu),
    }
}

fn key_row(key: &KeyStatus) -> KeyRow {
    KeyRow {
        link: format!("/why?{}", key.query()),
        object: key.to_string(),
        took: format_duration(Duration::from_micros(key.took_us)),
        failures: match key.failures {
            0 => String::new(),
            failures => failures.to_string(),
        },
        since: key.since.clone().unwrap_or_default(),
        next: key.next_ms.map_or_else(String::new, |next| {
            format_duration(Duration::from_millis(next))
        }),
        returned: key.returned.clone(),
        error: key.error.clone().unwrap_or_default(),
    }
}

/// A line of the newest 120 steps in a box of 120 by 20, the newest at the right; the highest fills it.
fn points(steps: &[u32]) -> String {
    let most = steps.iter().copied().max().unwrap_or(0).max(1);
    let left = 120_usize.saturating_sub(steps.len());
    let points = steps.iter().zip(left..).map(|(passes, x)| {
        let height = u64::from(*passes) * 19 / u64::from(most);
        format!("{x},{}", 20 - height)
    });
    points.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Passes;
    use windlass_controller::metrics::ReconciledKind;
    use windlass_kube::object::ObjectRef;

    const EVIL: &str = "</td><script>alert(1)</script>";

    #[test]
    fn the_newest_step_is_at_the_right_and_the_highest_fills_the_box() {
        assert_eq!(points(&[]), "");
        assert_eq!(points(&[0, 5, 10]), "117,20 118,11 119,1");
        let full = points(&[1; 120]);
        assert!(full.starts_with("0,1 ") && full.ends_with(" 119,1"));
    }

    #[test]
    fn what_a_guest_says_is_text_on_every_page() {
        let plugin = PluginStatus {
            name: EVIL.into(),
            state: "refused".into(),
            message: Some(EVIL.into()),
            version: Some(EVIL.into()),
            reconciles: vec![ReconciledKind {
                api_version: EVIL.into(),
                kind: EVIL.into(),
            }],
            warnings: vec![Warning {
                reason: EVIL.into(),
                message: EVIL.into(),
            }],
            passes: Passes {
                failed: 1,
                ..Passes::default()
            },
            ..PluginStatus::default()
        };
        let status = Status {
            api_version: String::new(),
            kind: String::new(),
            host: EVIL.into(),
            version: String::new(),
            up_ms: 0,
            problems: vec![EVIL.into()],
            plugins: vec![plugin.clone()],
        };
        let key = KeyStatus {
            api_version: EVIL.into(),
            kind: EVIL.into(),
            namespace: Some("n".into()),
            name: EVIL.into(),
            took_us: 0,
            failures: 1,
            since: None,
            next_ms: None,
            returned: "trapped".into(),
            error: Some(EVIL.into()),
        };
        let details = PluginDetails {
            api_version: String::new(),
            kind: String::new(),
            status: plugin,
            failing: vec![key.clone()],
            slowest: vec![key],
            unused_grants: vec![GrantStatus {
                resource: EVIL.into(),
                verbs: vec!["delete".into()],
            }],
        };
        let answer = Explanation::about(ObjectRef {
            kind: EVIL.into(),
            namespace: None,
            name: EVIL.into(),
        });
        for page in [overview(&status), plugin_page(&details), why(&answer)] {
            let page = page.unwrap();
            assert!(!page.contains("<script>"), "{page}");
            assert!(page.contains("&#60;script&#62;"), "{page}");
            assert!(page.len() + STYLE.len() + REFRESH.len() < 60_000);
        }
    }

    fn plugin_page(details: &PluginDetails) -> askama::Result<String> {
        plugin(details)
    }
}
