//! A list in pages.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::query::{self, ListQuery};
use super::state::StreamEnd;
use super::{Reflector, TEXT};
use crate::api::{Accept, ApiError, Request};
use crate::informer::shared::Origin;
use crate::informer::store::FieldSet;
use crate::object::{Object, Page as List};
use windlass_base::text::clean;

/// How many objects a page has at most.
const PAGE: usize = 500;

/// The bytes that an answer may have: it is on nobody's account before it is taken apart.
const LARGEST_PAGE: usize = 16 << 20;

/// What a page says beside its objects.
struct PageInfo {
    version: String,
    token: String,
}

/// A page of which nothing is wanted but that.
#[derive(Deserialize)]
struct Outline {
    metadata: ListMetadata,
    #[serde(default)]
    items: Vec<ListedItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
    #[serde(rename = "continue", default)]
    token: String,
}

#[derive(Deserialize)]
struct ListedItem {
    metadata: Named,
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    namespace: String,
    name: String,
}

impl Reflector {
    /// Takes in a whole list, the newest there is or one that is at least as new as what was seen.
    pub(super) async fn list(&self, newest: bool) -> StreamEnd {
        let seen = self.shared.highest();
        let at_least = (seen > 0 && !newest).then_some(seen);
        let cut = self.shared.begin_list();
        let end = self.pages(at_least, seen, &cut).await;
        if !matches!(end, StreamEnd::Listed(_)) {
            self.shared.drop_list();
        }
        end
    }

    async fn pages(&self, at_least: Option<u64>, seen: u64, cut: &FieldSet) -> StreamEnd {
        let (mut limit, mut token) = (PAGE, String::new());
        let asked = at_least.is_none().then(|| self.means.seams.clock.now());
        loop {
            let page = ListQuery {
                at_least,
                limit,
                token: &token,
            };
            let whole = self.page::<Box<RawValue>>(page, self.accept()).await;
            let taken = match whole.map(|page| self.take(page.get(), seen, cut)) {
                // One of its objects is more than can be taken: which one?
                Err(ApiError::TooLarge | ApiError::Garbled(_)) if limit > 1 => {
                    limit = (limit / 8).max(1);
                    continue;
                }
                Err(ApiError::TooLarge | ApiError::Garbled(_)) => {
                    let page = self.page(page, Accept::Metadata).await;
                    page.map(|page| fresh(self.left_out(page), seen))
                }
                taken => taken,
            };
            match taken {
                Ok(Ok(taken)) if taken.token.is_empty() => {
                    let version = taken.version.parse().unwrap_or(0);
                    self.shared.end_list(version, asked);
                    return StreamEnd::Listed(taken.version);
                }
                Ok(Ok(taken)) => token = taken.token,
                Ok(Err(end)) => return end,
                Err(error) if error.code() == Some(410) => return StreamEnd::Expired,
                Err(error) => return StreamEnd::Failed(error),
            }
        }
    }

    async fn page<T: DeserializeOwned + Send + 'static>(
        &self,
        page: ListQuery<'_>,
        accept: Accept,
    ) -> Result<T, ApiError> {
        let uri = query::page(&self.watched, page);
        let uri = uri.map_err(|error| ApiError::Garbled(error.to_string()))?;
        // Of larger objects fewer are asked for.
        let request = Request::list(uri, accept).at_most(LARGEST_PAGE);
        self.means.api.fetch(request).await
    }

    /// Takes in a page.
    fn take(&self, page: &str, seen: u64, cut: &FieldSet) -> Result<PageInfo, StreamEnd> {
        let unreadable = |what: String| Err(StreamEnd::Unreadable(what));
        let list = match List::of(page) {
            Ok(list) if list.version().is_empty() => {
                return unreadable("what should be a list has no version".into());
            }
            Ok(list) => list,
            Err(error) => return unreadable(format!("the answer is not a list: {error}")),
        };
        let taken = PageInfo {
            version: list.version().to_owned(),
            token: list.token().to_owned(),
        };
        let taken = fresh(taken, seen)?;
        for item in list.items() {
            if let Some(object) = Object::of(&self.watched.resource, item, &cut.fields) {
                self.shared.show(object, cut.edition, Origin::List);
            }
        }
        Ok(taken)
    }

    /// A page whose one object cannot be taken in: it counts as not there.
    fn left_out(&self, page: Outline) -> PageInfo {
        let resource = self.watched.resource.to_string();
        for ListedItem { metadata } in page.items {
            let (namespace, name) = (
                clean(&metadata.namespace, TEXT),
                clean(&metadata.name, TEXT),
            );
            tracing::error!(
                namespace,
                name,
                "one of the {resource} is too large to be taken in: it counts as not there"
            );
        }
        PageInfo {
            version: page.metadata.resource_version,
            token: page.metadata.token,
        }
    }
}

/// Refuses a list that is older than what was seen.
fn fresh(taken: PageInfo, seen: u64) -> Result<PageInfo, StreamEnd> {
    let version = taken.version.parse().unwrap_or(0);
    if version < seen {
        Err(StreamEnd::Older(version, seen))
    } else {
        Ok(taken)
    }
}
