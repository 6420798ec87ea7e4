//! How many requests a control plane has served, by its own count.

use std::time::Duration;

use anyhow::{Result, bail};
use kube::Client;

/// The resources whose requests are counted: those that only the judge and the contestant touch, and the
/// collector of garbage.
const COUNTED: [&str; 2] = ["configmaps", "greetings"];

/// How long nobody sends any when all is at rest, and how often that is looked at.
const REST: Duration = Duration::from_secs(2);
const MOST_LOOKS: usize = 150;

/// Requests so far that ask for objects or write them. Watches are not among them: they are counted when they end.
///
/// # Errors
/// The API server did not answer.
pub(crate) async fn served(client: &Client) -> Result<u64> {
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let metrics = client.request_text(request).await?;
    Ok(metrics.lines().filter_map(of_line).sum())
}

/// As [`served`], once nobody sends any: what others have left behind is tidied up some time later.
///
/// # Errors
/// The API server did not answer, or did not come to rest.
pub(crate) async fn served_at_rest(client: &Client) -> Result<u64> {
    let mut last = served(client).await?;
    for _ in 0..MOST_LOOKS {
        tokio::time::sleep(REST).await;
        let now = served(client).await?;
        if now == last {
            return Ok(now);
        }
        last = now;
    }
    bail!("the API server does not come to rest")
}

/// The requests that a line of the metrics counts.
fn of_line(line: &str) -> Option<u64> {
    let (labels, count) = line
        .strip_prefix("apiserver_request_total{")?
        .rsplit_once("} ")?;
    let is = |name: &str, value: &str| labels.contains(&format!("{name}=\"{value}\""));
    let is_counted = COUNTED.iter().any(|resource| is("resource", resource));
    let is_read_of_many = is("verb", "WATCH") || is("verb", "LIST");
    // Large numbers are written as 1.2e+06.
    let count: f64 = count.trim().parse().ok()?;
    (is_counted && !is_read_of_many).then_some(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_what_is_counted_count() {
        let line = |verb: &str, resource: &str| {
            let labels = format!("code=\"200\",resource=\"{resource}\",verb=\"{verb}\"");
            of_line(&format!("apiserver_request_total{{{labels}}} 12"))
        };
        assert_eq!(line("APPLY", "configmaps"), Some(12));
        assert_eq!(line("GET", "greetings"), Some(12));
        assert_eq!(line("WATCH", "greetings"), None);
        assert_eq!(line("GET", "leases"), None);
        assert_eq!(of_line("# HELP apiserver_request_total"), None);
    }
}
