//! Where something stands in the text of a document, for messages about it.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;
use windlass_yaml as yaml;

/// The line on which grant number `index` of the plugin `name` begins in `text`, the first being 1.
pub fn line_of_grant(text: &str, name: &str, index: usize) -> Option<u64> {
    let documents: Vec<GrantLines> = yaml::documents(text).ok()?;
    let document = documents
        .into_iter()
        .find(|document| document.metadata.name == name)?;
    let grant = document.spec.grants.get(index)?;
    Some(grant.defined.line()).filter(|line| *line > 0)
}

/// Where the grants of a document are.
#[derive(Deserialize)]
struct GrantLines {
    metadata: NamedMetadata,
    spec: GrantPlaces,
}

#[derive(Deserialize)]
struct NamedMetadata {
    name: String,
}

#[derive(Deserialize)]
struct GrantPlaces {
    #[serde(default)]
    grants: Vec<Spanned<IgnoredAny>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_is_found_by_its_line() {
        let document = |name: &str, grants: &str| {
            format!("kind: Plugin\nmetadata: {{ name: {name} }}\nspec:\n  grants:\n{grants}")
        };
        let text = format!(
            "{}---\n{}---\n{}",
            document("one", "    - { verbs: [get] }\n"),
            document(
                "two",
                "    - apiGroups: []\n      verbs: [get]\n\n    - verbs: []\n"
            ),
            "metadata: { name: three }\nspec: {}\n",
        );
        let line = |name: &str, index: usize| line_of_grant(&text, name, index);
        assert_eq!(line("one", 0), Some(5));
        assert_eq!((line("two", 0), line("two", 1)), (Some(11), Some(14)));
        assert_eq!(
            (line("two", 2), line("three", 0), line("four", 0)),
            (None, None, None)
        );
        assert_eq!(line_of_grant("a: [", "one", 0), None);
    }
}
