//! Pulls and pushes, within their deadlines.

use std::pin::Pin;
use std::time::Duration;

use windlass_egress::until;

use crate::artifact::Artifact;
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Annotations, judge};
use crate::problem::Problem;
use crate::reference::{Image, Layout, Reference};
use crate::session::Session;
use crate::settings::Settings;

/// The longest time of a whole pull.
pub const PULL: Duration = Duration::from_secs(60);
/// The longest time of a whole push.
pub const PUSH: Duration = Duration::from_secs(300);

type Working<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;

/// Pulls plugins and pushes them.
#[derive(Clone)]
pub struct Client {
    settings: Settings,
}

/// A plugin that was pulled. All its bytes have the digests that the manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The digest of the manifest.
    pub digest: Digest,
    /// The annotations of the manifest.
    pub annotations: Annotations,
    /// The config: JSON that says what the component imports and exports. Nobody has checked that it does.
    pub config: Vec<u8>,
    /// The component.
    pub component: Vec<u8>,
    /// Why mirrors were passed over.
    pub passed: Vec<Error>,
}

impl Client {
    /// A client.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// The digest of the manifest that a reference stands for now. Only a tag is looked up.
    ///
    /// # Errors
    /// There is none, or nobody says so.
    pub async fn resolve(&self, reference: &Reference) -> Result<Digest, Error> {
        match (reference, reference.digest()) {
            (_, Some(digest)) => Ok(digest),
            (Reference::Layout(layout), None) => {
                let found = layout.find().await;
                found
                    .map(|(digest, _)| digest)
                    .map_err(|problem| problem.at(reference))
            }
            (Reference::Registry(image), None) => {
                let (digest, _) = self
                    .first(reference, image, |mut session| {
                        Box::pin(async move { session.resolve(image.tag_or_latest()).await })
                    })
                    .await?;
                Ok(digest)
            }
        }
    }

    /// Pulls a plugin. A tag is looked up once, and all that follows is pulled by digest.
    ///
    /// # Errors
    /// There is no plugin, or none that can be trusted to be what the reference names.
    pub async fn pull(&self, reference: &Reference) -> Result<Pulled, Error> {
        match reference {
            Reference::Layout(layout) => {
                let pulled = read(layout).await;
                pulled.map_err(|problem| problem.at(reference))
            }
            Reference::Registry(image) => {
                let (mut pulled, passed) = self
                    .first(reference, image, |session| Box::pin(pull(session, image)))
                    .await?;
                pulled.passed = passed;
                Ok(pulled)
            }
        }
    }

    /// Pushes a plugin, and answers the digest of its manifest. What is there already is not sent.
    ///
    /// # Errors
    /// It is not there, or not all of it.
    pub async fn push(&self, reference: &Reference, artifact: &Artifact) -> Result<Digest, Error> {
        let parts = artifact.parts().map_err(|problem| problem.at(reference))?;
        let digest = parts.digest;
        if let Some(other) = reference.digest().filter(|other| *other != digest) {
            return Err(Error::Invalid(format!(
                "{reference}: the manifest has the digest {digest} instead of {other}: write a tag"
            )));
        }
        let pushed = match reference {
            Reference::Layout(layout) => layout.add(&parts).await,
            Reference::Registry(image) => {
                let work = async {
                    let mut session = Session::new(
                        &self.settings,
                        image.registry(),
                        image.repository(),
                        "pull,push",
                    )?;
                    session.upload("config", parts.config).await?;
                    session.upload("layer", parts.layer).await?;
                    let name = match (reference.tag(), reference.digest()) {
                        (None, Some(digest)) => digest.to_string(),
                        _ => image.tag_or_latest().to_owned(),
                    };
                    session.publish(&name, parts.manifest).await
                };
                let clock = self.settings.clock;
                let done = until(clock, clock.now() + PUSH, work).await;
                done.unwrap_or_else(|| Err(late("push", PUSH)))
            }
        };
        pushed.map_err(|problem| problem.at(reference))?;
        Ok(digest)
    }

    /// Asks the mirrors and then the registry, and takes what the first one gives. Each has its share of the time.
    async fn first<'a, T>(
        &'a self,
        reference: &Reference,
        image: &'a Image,
        work: impl Fn(Session<'a>) -> Working<'a, T>,
    ) -> Result<(T, Vec<Error>), Error> {
        let clock = self.settings.clock;
        let mut now = clock.now();
        let ends = now + PULL;
        let asked = self.settings.asked(image.registry());
        let mut left = u32::try_from(asked.len()).unwrap_or(u32::MAX);
        let mut passed = Vec::new();
        for registry in asked {
            let share = ends.saturating_duration_since(now) / left.max(1);
            left = left.saturating_sub(1);
            let session = Session::new(&self.settings, registry, image.repository(), "pull");
            let done = match session {
                Ok(session) => until(clock, now + share, work(session)).await,
                Err(problem) => Some(Err(problem)),
            };
            let problem = match done {
                Some(Ok(found)) => return Ok((found, passed)),
                Some(Err(problem)) => problem,
                None => late("pull", share),
            };
            if left == 0 {
                return Err(problem.at(reference));
            }
            passed.push(problem.at(&format!("{reference} from the mirror {registry}")));
            now = clock.now();
        }
        Err(Problem::unavailable("nobody was asked").at(reference))
    }
}

async fn pull(mut session: Session<'_>, image: &Image) -> Result<Pulled, Problem> {
    let digest = match image.digest() {
        Some(digest) => digest,
        None => session.resolve(image.tag_or_latest()).await?,
    };
    let (manifest, media_type) = session.pinned(digest).await?;
    let judged = judge(&manifest, media_type.as_deref())?;
    Ok(Pulled {
        digest,
        config: session.blob("config", judged.config).await?,
        component: session.blob("layer", judged.layer).await?,
        annotations: judged.annotations,
        passed: Vec::new(),
    })
}

async fn read(layout: &Layout) -> Result<Pulled, Problem> {
    let (digest, media_type) = layout.find().await?;
    let manifest = layout.manifest(digest).await?;
    let judged = judge(&manifest, media_type.as_deref())?;
    Ok(Pulled {
        digest,
        config: layout.blob("config", judged.config).await?,
        component: layout.blob("layer", judged.layer).await?,
        annotations: judged.annotations,
        passed: Vec::new(),
    })
}

fn late(what: &str, limit: Duration) -> Problem {
    Problem::unavailable(format!("the {what} took longer than {} s", limit.as_secs()))
}
