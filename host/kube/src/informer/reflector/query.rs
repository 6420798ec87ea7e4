//! What a reflector's requests say.

use std::time::Duration;

use crate::api::BadName;
use crate::informer::InformerKey;

/// How a list is asked for.
#[derive(Clone, Copy, Debug)]
pub(in crate::informer) struct ListQuery<'a> {
    /// It must be at least as new as this; none asks for the newest there is.
    pub(in crate::informer) at_least: Option<u64>,
    /// How many objects at most.
    pub(in crate::informer) limit: usize,
    /// Where the page before ended.
    pub(in crate::informer) token: &'a str,
}

type Form = form_urlencoded::Serializer<'static, String>;

/// A page of a list.
pub(in crate::informer) fn page(
    watched: &InformerKey,
    page: ListQuery<'_>,
) -> Result<String, BadName> {
    let mut form = selectors(watched);
    form.append_pair("limit", &page.limit.to_string());
    if !page.token.is_empty() {
        form.append_pair("continue", page.token);
    } else if let Some(version) = page.at_least {
        form.append_pair("resourceVersion", &version.to_string());
        form.append_pair("resourceVersionMatch", "NotOlderThan");
    }
    uri(watched, form)
}

/// A list that goes on as a watch.
pub(in crate::informer) fn stream(
    watched: &InformerKey,
    at_least: Option<u64>,
    lasts: Duration,
) -> Result<String, BadName> {
    let mut form = watching(watched, lasts);
    form.append_pair("sendInitialEvents", "true");
    form.append_pair("resourceVersionMatch", "NotOlderThan");
    if let Some(version) = at_least {
        form.append_pair("resourceVersion", &version.to_string());
    }
    uri(watched, form)
}

/// A watch from `version` on.
pub(in crate::informer) fn watch(
    watched: &InformerKey,
    version: &str,
    lasts: Duration,
) -> Result<String, BadName> {
    let mut form = watching(watched, lasts);
    form.append_pair("resourceVersion", version);
    uri(watched, form)
}

fn watching(watched: &InformerKey, lasts: Duration) -> Form {
    let mut form = selectors(watched);
    form.append_pair("watch", "true");
    form.append_pair("allowWatchBookmarks", "true");
    form.append_pair("timeoutSeconds", &lasts.as_secs().to_string());
    form
}

fn selectors(watched: &InformerKey) -> Form {
    let mut form = form_urlencoded::Serializer::new(String::new());
    let (labels, fields) = (&watched.label_selector, &watched.field_selector);
    for (name, selector) in [("labelSelector", labels), ("fieldSelector", fields)] {
        if let Some(selector) = selector {
            form.append_pair(name, selector);
        }
    }
    form
}

fn uri(watched: &InformerKey, mut form: Form) -> Result<String, BadName> {
    let path = watched
        .resource
        .path(watched.namespace.as_deref(), None, None)?;
    Ok(format!("{path}?{}", form.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Resource;

    fn watched() -> InformerKey {
        InformerKey {
            resource: Resource {
                group: String::new(),
                version: "v1".into(),
                kind: "ConfigMap".into(),
                plural: "configmaps".into(),
                namespaced: true,
            },
            namespace: Some("shop".into()),
            label_selector: Some("app in (a,b)".into()),
            field_selector: None,
            finalizer: None,
            metadata_only: false,
        }
    }

    #[test]
    fn requests_say_what_is_wanted() {
        let base = "/api/v1/namespaces/shop/configmaps?labelSelector=app+in+%28a%2Cb%29";
        let lasts = Duration::from_secs(300);
        let listed = |at_least, token| {
            let limit = 500;
            let wanted = ListQuery {
                at_least,
                limit,
                token,
            };
            page(&watched(), wanted).unwrap()
        };
        assert_eq!(listed(None, ""), format!("{base}&limit=500"));
        assert_eq!(
            listed(Some(7), ""),
            format!("{base}&limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan")
        );
        assert_eq!(
            listed(Some(7), "t"),
            format!("{base}&limit=500&continue=t"),
            "a token says which version"
        );
        let watching = format!("{base}&watch=true&allowWatchBookmarks=true&timeoutSeconds=300");
        assert_eq!(
            watch(&watched(), "7", lasts).unwrap(),
            format!("{watching}&resourceVersion=7")
        );
        assert_eq!(
            stream(&watched(), Some(7), lasts).unwrap(),
            format!(
                "{watching}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=7"
            )
        );
    }
}
