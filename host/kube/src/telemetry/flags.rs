//! How the log is written, and where traces go.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use http::Uri;

use super::LogSettings;
use windlass_base::seams::environment::variable;

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// What is logged, and how.
#[derive(Clone, Debug, Args)]
pub struct LogFlags {
    /// How the log is written: text or json [default: text; json for a host whose standard error is not a terminal]
    #[arg(
        id = "log-format",
        long = "log-format",
        global = true,
        env = "WINDLASS_LOG_FORMAT",
        value_name = "FORMAT",
        help_heading = "Global options"
    )]
    pub format: Option<LogFormat>,
    /// What is logged: a level, or a filter such as info,plugin=debug [default: info; dev and test log only what their own output does not show]
    #[arg(
        id = "log",
        long = "log",
        global = true,
        env = "WINDLASS_LOG",
        value_name = "FILTER",
        value_parser = super::filter,
        help_heading = "Global options"
    )]
    pub filter: Option<String>,
}

impl LogFlags {
    /// What is logged: `usual` if no flag says it.
    pub fn settings(&self, usual: &str, traces: Option<Endpoint>) -> LogSettings {
        LogSettings {
            format: self.format,
            filter: self.filter.clone().unwrap_or_else(|| usual.to_owned()),
            is_held_back: false,
            traces,
        }
    }
}

/// Where traces go.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Traces")]
pub struct TraceFlags {
    /// Collector for a trace of each pass, over OTLP (HTTP), such as http://localhost:4318 [default: no traces]
    // What is not an address is refused by `endpoint`: clap would print it, whatever secret stands in it.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        value_name = "URL",
        hide_env_values = true
    )]
    otlp_endpoint: Option<String>,
}

impl TraceFlags {
    /// The collector, if there is one.
    ///
    /// # Errors
    /// It is not an address.
    pub fn endpoint(&self) -> Result<Option<Endpoint>, &'static str> {
        // https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
        let is = |name, value| variable(name).is_some_and(|it| it.eq_ignore_ascii_case(value));
        let is_off = is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none");
        match &self.otlp_endpoint {
            Some(text) if !text.is_empty() && !is_off => text.parse().map(Some),
            _ => Ok(None),
        }
    }
}

/// The address of a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(String);

impl Endpoint {
    /// Where it takes traces ([OTLP](https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp)).
    pub fn traces(&self) -> String {
        format!("{}/v1/traces", self.0.trim_end_matches('/'))
    }
}

impl FromStr for Endpoint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "--otlp-endpoint, or the variable OTEL_EXPORTER_OTLP_ENDPOINT, must be the URL of a collector, such as http://localhost:4318; what it is to know you by goes into OTEL_EXPORTER_OTLP_HEADERS";
        // What stands before an @ would be in the log.
        let is_bare = |uri: &Uri| uri.authority().is_some_and(|it| !it.as_str().contains('@'));
        let is_url = |uri: Uri| {
            let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
            is_http && uri.query().is_none() && is_bare(&uri)
        };
        if text.parse().is_ok_and(is_url) {
            Ok(Self(text.to_owned()))
        } else {
            Err(wrong)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_the_url_of_a_collector_or_nothing() {
        let traces = |text: &str| text.parse().map(|it: Endpoint| it.traces()).ok();
        for (text, want) in [
            ("http://c:4318", Some("http://c:4318/v1/traces")),
            ("https://c/otlp/", Some("https://c/otlp/v1/traces")),
            ("localhost:4318", None),
            ("grpc://c:4317", None),
            ("http://c/?a=b", None),
            ("http://", None),
            ("http://me:secret@c", None),
        ] {
            assert_eq!(traces(text).as_deref(), want, "{text}");
        }
        // As an empty variable gives it.
        let none = TraceFlags {
            otlp_endpoint: Some(String::new()),
        };
        assert_eq!(none.endpoint(), Ok(None));
    }
}
