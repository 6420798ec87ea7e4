//! Fits a set that was written under an earlier schema to the present one.
//!
//! What has become one value (atomic) is owned as a whole by all who owned parts of it. The other way round
//! nothing is done, as in the real server.

use super::path::PathElement;
use super::set::Set;
use super::types::{Map, Type, TypePart};

/// The set under the present schema.
pub(super) fn reconcile(set: &Set, ty: Type<'_>) -> Set {
    let mut walker = Walker::default();
    walker.visit(Some(set), ty, Membership::InParts);
    if walker.whole.is_empty() {
        return set.clone();
    }
    set.recursive_difference(&walker.whole).union(&walker.whole)
}

/// How the set has a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Membership {
    Whole,
    InParts,
}

#[derive(Default)]
struct Walker {
    path: Vec<PathElement>,
    /// What has become one value.
    whole: Set,
}

impl Walker {
    fn visit(&mut self, set: Option<&Set>, ty: Type<'_>, held: Membership) {
        match ty.part(ty.open()) {
            TypePart::Map(map) if map.is_deduced() => {}
            TypePart::Map(map) if map.is_atomic() && held == Membership::InParts => {
                if set.is_some() {
                    self.whole.insert(&self.path);
                }
            }
            TypePart::Map(map) => self.descend(set, |step| field(map, step)),
            TypePart::List(list) if list.is_atomic() && held == Membership::InParts => {
                self.whole.insert(&self.path);
            }
            TypePart::List(list) => self.descend(set, |_| Some(list.items())),
            TypePart::Scalar(_) | TypePart::Nothing => {}
        }
    }

    fn descend<'a>(&mut self, set: Option<&Set>, ty: impl Fn(&PathElement) -> Option<Type<'a>>) {
        let Some(set) = set else { return };
        let bare = set
            .members
            .iter()
            .filter(|step| !set.children.contains_key(step));
        let bare = bare.map(|step| (step, None, Membership::Whole));
        let parts = set
            .children
            .iter()
            .map(|(step, below)| (step, Some(below), Membership::InParts));
        for (step, below, held) in bare.chain(parts) {
            if let Some(ty) = ty(step) {
                self.path.push(step.clone());
                self.visit(below, ty, held);
                self.path.pop();
            }
        }
    }
}

/// The type of a field; nothing where no schema knows it.
fn field<'a>(map: Map<'a>, step: &PathElement) -> Option<Type<'a>> {
    let ty = match step {
        PathElement::Field(name) => map.field(name),
        _ => map.values(),
    };
    (!ty.is_undeclared()).then_some(ty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::fruits;
    use super::*;

    #[test]
    fn what_has_become_one_value_is_owned_as_a_whole() {
        let schema = fruits();
        let table = [
            (
                json!({ "f:point": { "f:x": {}, "f:y": {} } }),
                json!({ "f:point": {} }),
            ),
            (
                json!({ "f:point": { ".": {}, "f:x": {} } }),
                json!({ "f:point": {} }),
            ),
            (json!({ "f:point": {} }), json!({ "f:point": {} })),
            (
                json!({ "f:atomic": { "v:\"a\"": {} } }),
                json!({ "f:atomic": {} }),
            ),
            (
                json!({ "f:items": { "k:{\"name\":\"a\"}": { "f:point": { "f:x": {} } } } }),
                json!({ "f:items": { "k:{\"name\":\"a\"}": { "f:point": {} } } }),
            ),
            // What was one value and has parts now stays owned as a whole.
            (
                json!({ "f:inner": {}, "f:items": {} }),
                json!({ "f:inner": {}, "f:items": {} }),
            ),
            (
                json!({ "f:gone": { "f:x": {} } }),
                json!({ "f:gone": { "f:x": {} } }),
            ),
            (
                json!({ "f:free": { "f:x": { "f:y": {} } } }),
                json!({ "f:free": { "f:x": { "f:y": {} } } }),
            ),
        ];
        for (before, after) in table {
            let set = Set::from_json(&before).unwrap();
            let found = reconcile(&set, Type::root(schema.view()));
            assert_eq!(found.to_json(), after, "{before}");
        }
    }
}
