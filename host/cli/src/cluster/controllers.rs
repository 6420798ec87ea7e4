//! Which controllers run as plugins, and which ones in the API server: pure.

use std::collections::BTreeSet;

use anyhow::bail;
use windlass_apiserver::options::Controllers;
use windlass_policy::source::{Candidate, Wanted};

/// A plugin, and the controller of the API server that does the same.
const SAME: [(&str, &str); 7] = [
    ("deployment", "deployment-controller"),
    ("job", "job-controller"),
    ("pv-protection", "persistentvolume-protection-controller"),
    (
        "pvc-protection",
        "persistentvolumeclaim-protection-controller",
    ),
    ("replicaset", "replicaset-controller"),
    ("root-ca", "root-ca-certificate-publisher-controller"),
    ("serviceaccount", "serviceaccount-controller"),
];

/// The plugins that this program has, without those that nobody wants.
#[derive(Clone, Debug)]
pub(super) struct Bundled(Vec<Candidate>);

impl Bundled {
    /// Leaves out plugins by their names.
    ///
    /// # Errors
    /// A name that no controller has.
    pub(super) fn new(mut plugins: Vec<Candidate>, without: &[String]) -> anyhow::Result<Self> {
        for name in without {
            let is_known = plugins.iter().any(|plugin| plugin.document.name == *name);
            if !is_known && server_controller(name).is_none() {
                let names = plugins.iter().map(|plugin| plugin.document.name.clone());
                let of_server = Controllers::known().map(|known| plain(known).to_owned());
                let known: BTreeSet<String> = names.chain(of_server).collect();
                let known: Vec<String> = known.into_iter().collect();
                bail!(
                    "--without {name}: there is no such controller; there are {}",
                    known.join(", ")
                );
            }
        }
        plugins.retain(|plugin| !without.contains(&plugin.document.name));
        Ok(Self(plugins))
    }

    /// The names of all plugins that run beside those of a folder.
    pub(super) fn names(&self, folder: &Wanted) -> BTreeSet<String> {
        let all = self.with(folder.clone()).plugins;
        all.into_iter().map(|plugin| plugin.document.name).collect()
    }

    /// These plugins and those of a folder. One of the folder takes the place of the one that has its name here.
    pub(super) fn with(&self, folder: Wanted) -> Wanted {
        let named = folder.plugins.iter().map(|plugin| &plugin.document.name);
        let wrong = folder
            .problems
            .iter()
            .filter_map(|wrong| wrong.plugin.as_ref());
        let taken: BTreeSet<&String> = named.chain(wrong).chain(&folder.coming).collect();
        let mut own = self.0.clone();
        own.retain(|plugin| !taken.contains(&plugin.document.name));
        let mut all = folder;
        all.plugins.extend(own);
        all
    }
}

/// The controllers of the API server that run: all but those that run as plugins, and those that nobody wants.
///
/// # Errors
/// Never: the names are known.
pub(super) fn of_server(
    plugins: &BTreeSet<String>,
    without: &[String],
) -> anyhow::Result<Controllers> {
    let off = plugins.iter().chain(without);
    let off = off.filter_map(|name| server_controller(name));
    let off: BTreeSet<String> = off.map(|name| format!(",-{name}")).collect();
    let list: String = off.into_iter().collect();
    Ok(format!("*{list}").parse()?)
}

/// The controller of the API server with the name of a plugin, or with its own name or a short form of it.
fn server_controller(name: &str) -> Option<&'static str> {
    let same = SAME.iter().find(|(plugin, _)| *plugin == name);
    let same = same.map(|(_, controller)| *controller);
    same.or_else(|| Controllers::known().find(|known| *known == name || plain(known) == name))
}

/// The name of a controller without the word.
fn plain(name: &'static str) -> &'static str {
    name.strip_suffix("-controller").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use windlass_policy::manifest::{Origin, parse};

    use super::*;

    fn plugin(name: &str, component: &[u8]) -> Candidate {
        let text = format!(
            "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: {name} }}\nspec: {{ source: {{ file: {name}.wasm }} }}\n"
        );
        let origin = Origin::File(PathBuf::from("a.yaml"));
        let document = parse(&origin, &text).unwrap().remove(0);
        Candidate::new(document, text.as_str().into(), component.into())
    }

    fn folder(plugins: Vec<Candidate>) -> Wanted {
        Wanted {
            plugins,
            ..Wanted::default()
        }
    }

    #[test]
    fn a_plugin_of_the_folder_takes_the_place_of_the_bundled_one() {
        let bundled = Bundled::new(vec![plugin("job", b"a"), plugin("deployment", b"a")], &[]);
        let bundled = bundled.unwrap();
        let own = plugin("job", b"b");
        let all = bundled.with(folder(vec![own.clone(), plugin("other", b"a")]));
        assert_eq!(all.plugins.iter().filter(|it| **it == own).count(), 1);
        let names: Vec<&str> = all.plugins.iter().map(|it| &*it.document.name).collect();
        assert_eq!(names, ["job", "other", "deployment"]);
        let coming = Wanted {
            coming: vec!["job".to_owned()],
            ..Wanted::default()
        };
        assert_eq!(bundled.with(coming).plugins.len(), 1);
    }

    #[test]
    fn what_runs_as_a_plugin_or_is_not_wanted_does_not_run_in_the_server() {
        let without = ["serviceaccount".to_owned(), "garbage-collector".to_owned()];
        let bundled = Bundled::new(vec![plugin("job", b"a")], &without).unwrap();
        let names = bundled.names(&folder(vec![plugin("deployment", b"a")]));
        let server = of_server(&names, &without).unwrap();
        for (name, runs) in [
            ("job-controller", false),
            ("deployment-controller", false),
            ("serviceaccount-controller", false),
            ("garbage-collector-controller", false),
            ("replicaset-controller", true),
            ("namespace-controller", true),
        ] {
            assert_eq!(server.runs(name), runs, "{name}");
        }
    }

    #[test]
    fn an_unknown_controller_is_refused_with_those_that_are_known() {
        let refused = Bundled::new(vec![plugin("cronjob", b"a")], &["cron".to_owned()]);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.starts_with("--without cron: there is no such controller; there are clusterrole-aggregation, cronjob, daemonset, "), "{refused}");
    }
}
