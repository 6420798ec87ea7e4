//! Whether the host is well, as `/livez` and `/readyz` of Kubernetes' own programs say it.
//!
//! - Live is a host whose tasks run. One that has lost a Lease has ended.
//! - Ready is a host whose plugins are as far as they can get: each runs, stands by, or waits for somebody else.

use axum::http::StatusCode;

use windlass_base::text::clean;
use windlass_controller::metrics::{Metrics, PluginStage};

/// The longest reason that is shown.
const REASON: usize = 500;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// Does it run?
    Live,
    /// Does it work?
    Ready,
}

/// How it is asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProbeQuery {
    /// For this check alone.
    only: Option<String>,
    /// Each check is to be shown.
    verbose: bool,
    /// These do not count.
    exclude: Vec<String>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) code: StatusCode,
    pub(super) text: String,
}

struct HealthCheck {
    name: String,
    /// What is so, or what is wrong.
    state: Result<String, String>,
}

impl ProbeQuery {
    /// Reads `?verbose&exclude=ping`, asked of `check` alone if there is one.
    pub(super) fn parse(check: Option<&str>, query: &str) -> Self {
        let mut asked = Self {
            only: check.map(str::to_owned),
            ..Self::default()
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "verbose" => asked.verbose = true,
                "exclude" => asked.exclude.push(value.into_owned()),
                _ => {}
            }
        }
        asked
    }
}

/// Answers.
pub(super) fn answer(probe: Probe, asked: &ProbeQuery, metrics: &Metrics) -> Verdict {
    let checks = checks(probe, metrics);
    let wanted = |check: &&HealthCheck| asked.only.as_ref().is_none_or(|only| *only == check.name);
    let checks: Vec<&HealthCheck> = checks.iter().filter(wanted).collect();
    if checks.is_empty() {
        let text = "there is no such check\n".to_owned();
        return Verdict {
            code: StatusCode::NOT_FOUND,
            text,
        };
    }
    let counts = |check: &HealthCheck| !asked.exclude.contains(&check.name);
    let is_well = checks
        .iter()
        .all(|check| check.state.is_ok() || !counts(check));
    if is_well && !asked.verbose {
        return Verdict {
            code: StatusCode::OK,
            text: "ok".to_owned(),
        };
    }
    let mut text = String::new();
    for check in checks {
        let name = &check.name;
        text += &match &check.state {
            _ if !counts(check) => format!("[+]{name} excluded: ok\n"),
            Ok(state) if state.is_empty() => format!("[+]{name} ok\n"),
            Ok(state) => format!("[+]{name} ok: {state}\n"),
            Err(state) => format!("[-]{name} failed: {state}\n"),
        };
    }
    let probe = match probe {
        Probe::Live => "livez",
        Probe::Ready => "readyz",
    };
    let (code, end) = if is_well {
        (StatusCode::OK, "passed")
    } else {
        (StatusCode::INTERNAL_SERVER_ERROR, "failed")
    };
    text += &format!("{probe} check {end}\n");
    Verdict { code, text }
}

fn checks(probe: Probe, metrics: &Metrics) -> Vec<HealthCheck> {
    let mut checks = vec![HealthCheck {
        name: "ping".to_owned(),
        state: Ok(String::new()),
    }];
    if probe == Probe::Ready {
        // It takes no host away: without an API server all of them are the same.
        let silence = metrics.requests().silence();
        let said = silence.map_or_else(String::new, |(lasts, count)| {
            let seconds = lasts.as_secs();
            format!("but {count} requests in the last {seconds} s had no answer")
        });
        checks.push(HealthCheck {
            name: "api-server".to_owned(),
            state: Ok(said),
        });
        checks.extend(
            metrics
                .plugins()
                .iter()
                .map(|(plugin, meters)| HealthCheck {
                    name: format!("plugin/{plugin}"),
                    state: state(&meters.stage()),
                }),
        );
    }
    checks
}

/// What is so of a plugin, or what is wrong. One that others hold up does not take the rest of the host away.
fn state(stage: &PluginStage) -> Result<String, String> {
    match stage {
        PluginStage::Loading => Err("its first version is being loaded".to_owned()),
        PluginStage::Syncing => Err("its first lists are not in yet".to_owned()),
        PluginStage::Refused(why) => Ok(format!("not running, refused: {}", clean(why, REASON))),
        PluginStage::Quarantined(why) | PluginStage::Waiting(why) | PluginStage::Forbidden(why) => {
            Ok(format!("not running, {}", clean(why, REASON)))
        }
        PluginStage::StandingBy => Ok("standing by".to_owned()),
        PluginStage::Running => Ok("running".to_owned()),
        PluginStage::SlowedDown(why) => Ok(format!("running, {}", clean(why, REASON))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe_answer(
        probe: Probe,
        check: Option<&str>,
        query: &str,
        metrics: &Metrics,
    ) -> (u16, String) {
        let verdict = answer(probe, &ProbeQuery::parse(check, query), metrics);
        (verdict.code.as_u16(), verdict.text)
    }

    #[test]
    fn a_host_is_ready_when_its_plugins_are_as_far_as_they_can_get() {
        let metrics = Metrics::default();
        let ready = |query| probe_answer(Probe::Ready, None, query, &metrics);
        assert_eq!(ready(""), (200, "ok".into()), "without plugins");
        let stages = [
            (PluginStage::Loading, 500),
            (PluginStage::Syncing, 500),
            (PluginStage::Refused("bad\u{1b}[2J".into()), 200),
            (PluginStage::Waiting("waiting: no such kind".into()), 200),
            (PluginStage::StandingBy, 200),
            (PluginStage::Running, 200),
            (
                PluginStage::Quarantined("component quarantined".into()),
                200,
            ),
            (PluginStage::SlowedDown("slowed down".into()), 200),
        ];
        for (stage, code) in stages {
            metrics.of("greeter").reached(stage.clone());
            assert_eq!(ready("").0, code, "{stage:?}");
            assert_eq!(
                probe_answer(Probe::Live, None, "", &metrics).0,
                200,
                "{stage:?}"
            );
            let (_, text) = ready("verbose");
            assert!(text.contains("plugin/greeter "), "{text}");
            assert!(!text.contains('\u{1b}'), "{text:?}");
        }
    }

    #[test]
    fn checks_are_shown_asked_for_and_excluded_as_in_kubernetes() {
        let metrics = Metrics::default();
        metrics.of("greeter");
        let failed = "[+]ping ok\n[+]api-server ok\n[-]plugin/greeter failed: its first version is being loaded\nreadyz check failed\n";
        let cases = [
            (None, "", (500, failed)),
            (None, "verbose", (500, failed)),
            (Some("ping"), "", (200, "ok")),
            (None, "exclude=plugin/greeter", (200, "ok")),
            (Some("absent"), "", (404, "there is no such check\n")),
        ];
        for (check, query, (code, text)) in cases {
            let said = probe_answer(Probe::Ready, check, query, &metrics);
            assert_eq!(said, (code, text.to_owned()), "{check:?} {query}");
        }
    }
}
