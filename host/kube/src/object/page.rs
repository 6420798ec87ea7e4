//! A page of a list, with its objects as they are written.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Fields;
use super::Object;
use crate::api::Resource;

/// A page of a list.
#[derive(Deserialize)]
pub struct Page<'a> {
    metadata: PageMetadata,
    #[serde(default, borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PageMetadata {
    resource_version: String,
    #[serde(rename = "continue")]
    token: String,
}

impl<'a> Page<'a> {
    /// Reads what should be one.
    ///
    /// # Errors
    /// It is none.
    pub fn of(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The version at which the list was true; empty if it does not say.
    pub fn version(&self) -> &str {
        &self.metadata.resource_version
    }

    /// What is asked for the next page with; empty if there is none.
    pub fn token(&self) -> &str {
        &self.metadata.token
    }

    /// Its items.
    pub fn items(&self) -> impl Iterator<Item = &'a str> {
        let items = self.items.iter().flatten();
        items.map(|item| item.get())
    }

    /// Those that are objects, which are of `resource`.
    pub fn objects(&self, resource: &Resource) -> impl Iterator<Item = Object> {
        let whole = Fields::default();
        let read = move |item| Object::of(resource, item, &whole);
        self.items().filter_map(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_follows_and_its_objects_what_they_are() {
        let resource = Resource {
            group: "x.dev".into(),
            version: "v1".into(),
            kind: "Thing".into(),
            plural: "things".into(),
            namespaced: true,
        };
        let text = r#"{"metadata":{"resourceVersion":"7","continue":"t"},"items":[{"metadata":{"name":"a"},"spec":1},{},3]}"#;
        let page = Page::of(text).unwrap();
        assert_eq!((page.version(), page.token()), ("7", "t"));
        let objects: Vec<_> = page.objects(&resource).collect();
        assert_eq!(objects.len(), 1);
        assert_eq!(
            objects[0].json.text(),
            r#"{"apiVersion":"x.dev/v1","kind":"Thing","metadata":{"name":"a"},"spec":1}"#
        );
        let empty = Page::of(r#"{"metadata":{},"items":null}"#).unwrap();
        assert_eq!((empty.token(), empty.items().count()), ("", 0));
        assert!(Page::of("[]").is_err());
    }
}
