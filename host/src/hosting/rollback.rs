//! Fetches the component that an annotation names, whatever the source of the document says.

use std::sync::Arc;

use windlass_registry::Digest as ManifestDigest;

use super::Host;
use super::fetch::{Fetched, Fetcher};
use super::refusal::{Refusal, RefusalReason, Retry};
use windlass_base::digest::Digest;
use windlass_base::memory::Prepared;
use windlass_policy::manifest::ComponentSource;
use windlass_policy::source::{Candidate, Component};

impl Host {
    /// The component `wanted` that `asked` is to run: one that this host keeps, or what the source has under that digest.
    pub(super) async fn fetch_back(
        &self,
        fetcher: &mut Fetcher,
        asked: Arc<Candidate>,
        wanted: Digest,
    ) -> Result<Fetched, Refusal> {
        let document = &asked.document;
        if let Some(kept) = &self.last_good {
            let room = self.preparations.room().await;
            if let Some(bytes) = kept.component(&document.name, &wanted) {
                return Ok(Fetched {
                    candidate: Arc::new(asked.with_digest(wanted)),
                    bytes: Some(Prepared::new(bytes, room)),
                });
            }
        }
        if let ComponentSource::Oci(oci) = &document.source {
            let named = format!("sha256:{}", wanted.hex());
            let manifest = ManifestDigest::parse(&named).map_err(RefusalReason::Unreadable)?;
            let at = oci.reference.at(manifest);
            match self.pull(fetcher, &asked, (oci, &at)).await {
                Ok(fetched) => return Ok(fetched),
                // It may be the digest of a component, which registries do not know.
                Err(refusal) if refusal.is_absent() => {}
                Err(refusal) => return Err(refusal),
            }
        }
        let unknown = self.not_kept(&asked, wanted);
        if asked.component == Component::Known(wanted) {
            return self.fetch_source(fetcher, asked).await;
        }
        if asked.component != Component::Remote {
            return Err(unknown);
        }
        let fetched = self.fetch_source(fetcher, asked).await?;
        match fetched.candidate.component {
            Component::Known(found) if found == wanted => Ok(fetched),
            Component::Known(_) | Component::Remote | Component::Unreadable(_) => Err(unknown),
        }
    }

    /// The component `wanted` is nowhere.
    fn not_kept(&self, asked: &Candidate, wanted: Digest) -> Refusal {
        let name = &asked.document.name;
        let kept = self.last_good.as_ref();
        let kept = kept.map(|kept| kept.components(name)).unwrap_or_default();
        let kept = kept.iter().map(|digest| format!("sha256:{}", digest.hex()));
        RefusalReason::NotKept {
            at: asked.document.origin.to_string(),
            wanted,
            kept: kept.collect(),
        }
        .into()
    }
}

impl Refusal {
    /// Whether what is fetched is not there.
    fn is_absent(&self) -> bool {
        self.reason() == "SourceNotFound" && self.retry != Retry::OnChange
    }
}
