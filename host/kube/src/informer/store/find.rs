//! How objects are found without looking at all of them.

use super::Store;
use crate::object::{Key, Object};

impl Store {
    /// The objects in `namespace`, or everywhere, of which those with `label` are wanted: no others, if
    /// that costs less than to look at them.
    pub(in crate::informer) fn find(
        &mut self,
        namespace: Option<&str>,
        label: Option<(&str, &str)>,
    ) -> Vec<Object> {
        let first = Key::new(namespace, "");
        let inside = |key: &Key| namespace.is_none() || key.namespace.as_deref() == namespace;
        if let Some((name, value)) = label {
            if !self.index.has_label(name) {
                let all = self.objects.values().map(|held| &held.object);
                self.index.add_label(name, all);
            }
            if let Some(keys) = self.index.labelled(name, value) {
                let keys = keys
                    .into_iter()
                    .flat_map(|keys| keys.range(first.clone()..))
                    .take_while(|key| inside(key));
                return keys.filter_map(|key| self.get(key)).cloned().collect();
            }
        }
        let all = self.objects.range(first..);
        let objects = all.take_while(|(key, _)| inside(key));
        objects.map(|(_, held)| held.object.clone()).collect()
    }
}
