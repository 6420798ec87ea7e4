//! Which objects carry a finalizer.

use anyhow::Context;

use windlass_kube::api::{Accept, Api, Request, Resource};
use windlass_kube::object::{Object, Page};

/// How many objects a page has at most.
const LIMIT: usize = 500;

/// The objects of `resource` that carry `finalizer`, by their metadata.
pub(crate) async fn carriers(
    api: &Api,
    resource: &Resource,
    namespace: Option<&str>,
    finalizer: &str,
) -> anyhow::Result<Vec<Object>> {
    let path = resource.path(namespace, None, None)?;
    let mut token = String::new();
    let mut found = Vec::new();
    loop {
        let uri = {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("limit", &LIMIT.to_string());
            if !token.is_empty() {
                query.append_pair("continue", &token);
            }
            format!("{path}?{}", query.finish())
        };
        let page = api.text(Request::list(uri, Accept::Metadata)).await?;
        let page = Page::of(page.get()).context("the API server answered with no list")?;
        let objects = page.objects(resource);
        found.extend(objects.filter(|object| object.metadata.has_finalizer(finalizer)));
        page.token().clone_into(&mut token);
        if token.is_empty() {
            return Ok(found);
        }
    }
}
