//! A grant to be suggested to an operator.

use super::{Grant, Namespaces, Owners};

impl Grant {
    /// A grant to be written into a document; it acknowledges what is powerful in it.
    pub fn suggested(
        group: &str,
        resources: &[&str],
        verbs: &[&str],
        namespaces: Namespaces,
    ) -> Self {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let grant = Self {
            api_groups: words(&[group]),
            resources: words(resources),
            resource_names: Vec::new(),
            verbs: words(verbs),
            namespaces,
            adopt: false,
            finalizers: Vec::new(),
            owners: Owners::Primary,
            acknowledge: Vec::new(),
        };
        grant.acknowledged()
    }

    /// Its groups and resources, each with each, without those that have a wildcard.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let groups = self.api_groups.iter().filter(|group| !group.contains('*'));
        groups.flat_map(|group| {
            let resources = self.resources.iter();
            let named = resources.filter(|resource| !resource.contains('*'));
            named.map(move |resource| (group.as_str(), resource.as_str()))
        })
    }
}
