//! The alert rules and the dashboard: each query has a result on a live host, and each alert has a section that says what
//! to do.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::{Cluster, Greeter, Plugins, Scene, Scrape, documents, workspace};

use crate::chart::queries;
use crate::chart::{Chart, everything, object};

const RULES: &str = "deploy/components/prometheus/rules.yaml";
const DASHBOARD: &str = "deploy/components/grafana/dashboard.json";

/// The rules: each with its name and its query.
fn rules() -> Result<Vec<Value>> {
    let text = fs::read_to_string(workspace().join(RULES))?;
    let object = documents(&text)?.remove(0);
    let rules = object
        .pointer("/spec/groups/0/rules")
        .and_then(Value::as_array);
    Ok(rules.context("there are rules")?.clone())
}

fn dashboard() -> Result<Value> {
    let text = fs::read_to_string(workspace().join(DASHBOARD))?;
    Ok(serde_json::from_str(&text)?)
}

/// The queries of a dashboard: those of its panels, and those that list the values of its variables.
fn queries_of(dashboard: &Value) -> Result<Vec<String>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let panels = list(&dashboard["panels"]);
    let targets = panels.iter().flat_map(|panel| list(&panel["targets"]));
    let mut queries = Vec::new();
    for target in targets {
        let query = target["expr"].as_str().context("a target has a query")?;
        queries.push(query.replace("$__rate_interval", "5m"));
    }
    for variable in list(&dashboard["templating"]["list"]) {
        let Some(query) = variable["query"]["query"].as_str() else {
            continue;
        };
        // label_values(METRIC, LABEL) lists what this has for labels.
        let words = query
            .strip_prefix("label_values(")
            .and_then(|it| it.strip_suffix(')'));
        let words = words.and_then(|words| words.rsplit_once(", "));
        let (metric, label) = words.with_context(|| format!("{query} has two words"))?;
        queries.push(format!("count by ({label}) ({metric})"));
    }
    Ok(queries)
}

#[tokio::test]
async fn each_query_names_metrics_labels_and_values_that_a_live_host_has() -> Result<()> {
    let cluster = Cluster::new("monitored").await?;
    let plugins = Plugins::new(&cluster.namespace)?;
    let plugins = plugins.written_in(Greeter::Rust).greeter()?;
    let ports = ["--metrics-bind-address=127.0.0.1:0"];
    let scene = Scene::start_with(cluster, plugins, &ports)?;
    scene.cluster.greet("ada", json!({ "name": "Ada" })).await?;
    scene.cluster.until_ready("ada").await?;
    let scrape = Scrape::of(&scene.host).await?;

    let mut texts = queries_of(&dashboard()?)?;
    for rule in rules()? {
        texts.push(
            rule["expr"]
                .as_str()
                .context("a rule has a query")?
                .to_owned(),
        );
    }
    ensure!(texts.len() >= 40, "only {} queries", texts.len());
    for (text, query) in texts.iter().zip(queries::read(&texts)?) {
        query.check(&scrape).with_context(|| text.clone())?;
    }
    // What the check is worth.
    for (text, why) in [
        (
            "sum(windlass_plugin_status)",
            "there is no metric windlass_plugin_status",
        ),
        (
            "windlass_plugin_state{phase=\"running\"}",
            "there is no windlass_plugin_state{phase}",
        ),
        (
            "windlass_plugin_state{state=~\"running|stuck\"}",
            "the value \"stuck\" is not among",
        ),
        (
            "sum by (plugin) (windlass_plugin_state)",
            "has the label plugin",
        ),
        ("rate(windlass_plugin_state)", "expected type range vector"),
    ] {
        let query = queries::read(&[text.to_owned()])?.remove(0);
        let error = query.check(&scrape).err().map(|error| format!("{error:#}"));
        ensure!(
            error.as_ref().is_some_and(|it| it.contains(why)),
            "{text}: {error:?}"
        );
    }
    Ok(())
}

#[test]
fn each_alert_has_a_section_of_a_page_with_its_name() -> Result<()> {
    let mut sections = Vec::new();
    for rule in rules()? {
        let name = rule["alert"].as_str().context("an alert has a name")?;
        let runbook = rule["annotations"]["runbook"].as_str().unwrap_or_default();
        let (page, anchor) = runbook.split_once('#').context("a page and an anchor")?;
        assert_eq!(anchor, name.to_lowercase(), "as Markdown makes anchors");
        let text = fs::read_to_string(workspace().join(page)).context(name.to_owned())?;
        ensure!(
            text.contains(&format!("\n## {name}\n")),
            "{page} lacks {name}"
        );
        let summary = rule["annotations"]["summary"].as_str();
        ensure!(
            summary.is_some_and(|it| it.ends_with('.')),
            "{name} has a sentence"
        );
        sections.push(format!("## {name}"));
    }
    let page = fs::read_to_string(workspace().join("docs/alerts.md"))?;
    let titles: Vec<&str> = page.lines().filter(|it| it.starts_with("## ")).collect();
    assert_eq!(
        titles, sections,
        "one section for each alert, in their order"
    );
    Ok(())
}

#[test]
fn the_chart_has_the_rules_the_dashboard_and_the_flows_of_kustomize() -> Result<()> {
    let objects = Chart::new()?.render("windlass-system", &everything())?;
    let of_chart = |kind: &str, name: &str| object(&objects, kind, name);
    let dashboards = of_chart("ConfigMap", "windlass-dashboard")?;
    let text = dashboards["data"]["windlass.json"].as_str();
    let text = text.context("there is a dashboard")?;
    assert_eq!(serde_json::from_str::<Value>(text)?, dashboard()?);
    for (file, prefix) in [
        (RULES, ""),
        ("deploy/components/prometheus/service-monitor.yaml", ""),
        (
            "deploy/components/flow-schemas/flow-schemas.yaml",
            "windlass-windlass-system-",
        ),
    ] {
        let text = fs::read_to_string(workspace().join(file))?;
        for mut wanted in documents(&text)? {
            let kind = wanted["kind"].as_str().unwrap_or_default().to_owned();
            let name = wanted["metadata"]["name"].as_str();
            let name = name.unwrap_or_default().to_owned();
            let mut found = of_chart(&kind, &format!("{prefix}{name}"))?.clone();
            for object in [&mut wanted, &mut found] {
                if let Some(labels) = object.pointer_mut("/spec/selector/matchLabels") {
                    labels["app.kubernetes.io/instance"] = Value::Null;
                }
            }
            assert_eq!(found["spec"], wanted["spec"], "{kind} {name}");
        }
    }
    Ok(())
}
