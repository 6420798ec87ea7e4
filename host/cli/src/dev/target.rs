//! What `windlass dev` is asked to run: a project, or a component alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use serde_json::Value;

use super::apply::Applier;
use super::grant;
use super::inputs::Inputs;
use super::news::News;
use crate::project::component::own_name;
use crate::project::objects::{Wanted, carried};
use crate::project::{Failed, Made, Maker, Project, grants_command};
use windlass_base::digest::digest;
use windlass_base::error::Chain;
use windlass_egress::Rules;
use windlass_host::hosting::Host;
use windlass_kube::api::Resource;
use windlass_policy::grants::{Grant, Grants, entries};
use windlass_policy::manifest::{
    ComponentSource, DefinitionPolicy, DeletionPolicy, Limits, Mode, ObjectAnnotations, Origin,
    PluginDocument, line_of_grant,
};
use windlass_policy::source::{Candidate, read_file};
use windlass_sandbox::Description;

/// What to run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// A folder with a document.
    Project(Box<Project>),
    /// A component, which says itself what it is.
    Component(PathBuf),
}

/// A version of a target that a host can be asked for, and what is said of it.
pub(crate) struct Version {
    /// For the host.
    pub(crate) candidate: Candidate,
    /// What was made.
    pub(crate) made: Made,
    /// It was made, and what it is granted.
    pub(super) news: [News; 2],
    /// The kinds that a component alone carries, as they were applied.
    pub(super) applied: Vec<News>,
    /// The definitions of these kinds.
    pub(crate) definitions: Vec<Value>,
}

impl Target {
    /// What `path` is: a folder with a plugin.yaml, or a component.
    ///
    /// # Errors
    /// Neither.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let about =
            fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        if about.is_dir() {
            Ok(Self::Project(Box::new(Project::open(path)?)))
        } else {
            Ok(Self::Component(path.to_owned()))
        }
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        match self {
            Self::Project(project) => &project.folder,
            Self::Component(file) => match file.parent() {
                Some(parent) if parent != Path::new("") => parent,
                _ => Path::new("."),
            },
        }
    }

    /// Its document, as somebody wrote it; a component alone has one that says nothing.
    pub(crate) fn document(&self) -> PluginDocument {
        match self {
            Self::Project(project) => project.document.clone(),
            Self::Component(file) => alone(file),
        }
    }

    /// What it is made from.
    pub(crate) fn inputs(&self) -> Inputs {
        match self {
            Self::Project(project) => match project.how() {
                Some(build) => Inputs::new(&project.folder, &build.watch, &project.output()),
                // It is made elsewhere: the component itself is what changes.
                None => Inputs::of_component(&project.folder, &project.output()),
            },
            Self::Component(file) => Inputs::of_component(self.folder(), file),
        }
    }

    /// The document as it is now.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub(crate) fn reopened(&self) -> anyhow::Result<Self> {
        match self {
            Self::Project(project) => Ok(Self::Project(Box::new(Project::open(&project.folder)?))),
            Self::Component(_) => Ok(self.clone()),
        }
    }

    /// Makes the component; `begins` is told of each command before it runs.
    ///
    /// # Errors
    /// As [`Maker::make`].
    pub(crate) async fn make(&self, maker: &Maker, begins: impl Fn(&str)) -> Result<Made, Failed> {
        match self {
            Self::Project(project) => maker.make(project, begins).await,
            Self::Component(file) => {
                let bytes = read_file(file)
                    .map_err(|why| anyhow::anyhow!("the component {}: {why}", file.display()))?;
                Ok(Made {
                    digest: digest(&bytes),
                    bytes: bytes.into(),
                    took: std::time::Duration::ZERO,
                })
            }
        }
    }

    /// Says what the plugin needs, and what of that it is not granted.
    fn granted(
        &self,
        plugin: &str,
        description: &Description,
        primaries: &[Resource],
        host: &Host,
    ) -> News {
        let none = Grants::default();
        let ((missing, to_grant, problems), granted) = match self {
            Self::Project(project) => (
                lacks(project, description, primaries, host),
                &project.document.grants,
            ),
            Self::Component(_) => (Default::default(), &none),
        };
        News::Granted {
            plugin: plugin.to_owned(),
            needs: grant::need_lines(description),
            powerful: grant::powerful(description, granted),
            missing,
            add: to_grant.iter().map(|grant| entries([grant])).collect(),
            command: grants_command(self.folder()),
            problems,
        }
    }

    /// Asks what was made what it is, and grants it what it asks for.
    ///
    /// # Errors
    /// A host would not load it.
    pub(crate) async fn version(&self, made: Made, host: &Host) -> anyhow::Result<Version> {
        let document = self.document();
        let PluginDocument {
            name,
            config,
            limits,
            ..
        } = &document;
        let loading = host
            .sandboxes
            .load(name, &made.bytes, config, *limits, &host.cache);
        let loaded = loading
            .await
            .map_err(|error| anyhow::anyhow!("{}: {}", document.source, Chain(&error)))?;
        let description = &loaded.description;
        let (document, carried) = match self {
            Self::Project(_) => (document, Vec::new()),
            Self::Component(file) => {
                let name = own_name(
                    description,
                    "write a plugin.yaml with another name beside it",
                )?;
                let carried = carried(file, &description.crds).map_err(anyhow::Error::msg)?;
                (PluginDocument { name, ..document }, carried)
            }
        };
        let applied = apply_all(&carried, host).await;
        let definitions = carried.into_iter().filter_map(Wanted::definition).collect();
        let mut primaries = Vec::new();
        let named = description.primaries.iter();
        for watch in named.filter(|watch| !watch.is_every_kind()) {
            let (api_version, kind) = (&watch.api_version, &watch.kind);
            let found = host.discovery.by_kind(api_version, kind).await;
            primaries.extend(found.ok().flatten());
        }
        let news = [
            built(&document.name, description, &made),
            self.granted(&document.name, description, &primaries, host),
        ];
        let granted = match self {
            Self::Project(_) => &document.grants,
            Self::Component(_) => &grant::status(&primaries),
        };
        let grants = grant::requested_grants(granted, description, &primaries);
        let text: Arc<str> = match self {
            Self::Project(project) => project.text.as_str().into(),
            Self::Component(_) => "".into(),
        };
        let document = PluginDocument { grants, ..document };
        Ok(Version {
            candidate: Candidate::new(document, text, made.bytes.clone()),
            made,
            news,
            applied,
            definitions,
        })
    }
}

/// Says what was made.
fn built(plugin: &str, description: &Description, made: &Made) -> News {
    News::Built {
        plugin: plugin.to_owned(),
        version: description.version.clone(),
        digest: made.digest.to_string(),
        bytes: made.bytes.len(),
        took_ms: u64::try_from(made.took.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Applies the kinds that a component carries, and says what came of each.
async fn apply_all(carried: &[Wanted], host: &Host) -> Vec<News> {
    let applier = Applier {
        api: &host.api,
        discovery: &host.discovery,
        clock: host.seams.clock,
        is_own: false,
    };
    let mut applied = Vec::new();
    for wanted in carried {
        applied.push(applier.apply(wanted).await);
    }
    applied
}

/// What the document of a project does not grant, what to add for it, and what cannot work in its grants: nothing while
/// one of its kinds is not served.
fn lacks(
    project: &Project,
    description: &Description,
    primaries: &[Resource],
    host: &Host,
) -> (Vec<String>, Vec<Grant>, Vec<String>) {
    let document = &project.document;
    let readiness = host.readiness(description, &document.grants);
    let line = |index| line_of_grant(&project.text, &document.name, index);
    let named = description.primaries.iter();
    let named = named.filter(|watch| !watch.is_every_kind());
    let are_served = primaries.len() == named.count();
    let problems = readiness.problems.iter().filter(|_| are_served);
    let mut problems: Vec<String> = problems.map(|problem| problem.text(line)).collect();
    let to_grant = readiness.to_grant.unwrap_or_else(|never| {
        let problem = format!("the plugin needs access that is never granted: {never}");
        problems.insert(0, problem);
        Vec::new()
    });
    (readiness.missing, to_grant, problems)
}

/// The document of a component without one.
fn alone(file: &Path) -> PluginDocument {
    PluginDocument {
        name: "component".to_owned(),
        origin: Origin::File(file.to_owned()),
        source: ComponentSource::File(file.to_owned()),
        finalizer: None,
        replaces: Vec::new(),
        reporting_controller: None,
        config: "{}".to_owned(),
        config_from: Vec::new(),
        grants: Grants::default(),
        service_account: None,
        http: Rules::default(),
        limits: Limits::default(),
        resync: windlass_policy::manifest::RESYNC,
        crds: DefinitionPolicy::Ignore,
        deletion: DeletionPolicy::default(),
        rollback_to: None,
        is_paused: false,
        mode: Mode::Run,
        object_annotations: ObjectAnnotations::Follow,
        build: None,
    }
}
