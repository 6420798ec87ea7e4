//! What the Go structs behind the types say and OpenAPI does not.

use std::sync::LazyLock;

use super::data;

static TEXT: LazyLock<String> = LazyLock::new(|| data::unpack(data::STRUCTS));
/// A struct's name and its fields as text, sorted by name.
static LINES: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let lines = TEXT.lines();
    lines.filter_map(|line| line.split_once('\t')).collect()
});

/// A field of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// `omitempty`: it stays away when it is empty.
    pub(crate) omits_empty: bool,
    /// `omitzero`: the same for structs.
    pub(crate) omits_zero: bool,
    /// Its number in protobuf, after those of the embedded structs it is in; empty where it has none.
    numbers: &'static str,
    /// Its type, such as `*int32`, `[]v1.Container`.
    go: &'static str,
}

impl Field {
    fn parse(text: &'static str) -> Option<Self> {
        let mut parts = text.splitn(4, ',');
        let (name, flags) = (parts.next()?, parts.next()?);
        let (numbers, go) = (parts.next()?, parts.next()?);
        Some(Self {
            name,
            omits_empty: flags.contains('o'),
            omits_zero: flags.contains('z'),
            numbers: if numbers == "-" { "" } else { numbers },
            go,
        })
    }

    pub(crate) fn is_pointer(&self) -> bool {
        self.go.starts_with('*')
    }

    /// The type, or what a pointer points to.
    pub(crate) fn go_type(&self) -> &'static str {
        self.go.trim_start_matches('*')
    }

    /// The numbers on the way to it in protobuf.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        self.numbers.split('.').filter_map(|part| part.parse().ok())
    }
}

/// The fields of a struct, in Go's order; nothing for types that are no structs.
pub(crate) fn fields(type_name: &str) -> Option<impl Iterator<Item = Field> + Clone + use<>> {
    let place = LINES.binary_search_by_key(&type_name, |(name, _)| name);
    let (_, fields) = LINES.get(place.ok()?)?;
    Some(fields.split(' ').filter_map(Field::parse))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::types;

    #[test]
    fn every_struct_has_the_fields_that_openapi_says() {
        assert!(LINES.len() > 400);
        for (name, _) in LINES.iter() {
            let schema = types::schema(name);
            let view = schema.view();
            let mut count = 0;
            for field in fields(name).unwrap() {
                assert!(view.property(field.name).is_some(), "{name}.{}", field.name);
                count += 1;
            }
            assert_eq!(count, view.properties().count(), "{name}");
        }
    }

    #[test]
    fn fields_of_embedded_structs_have_the_numbers_on_the_way_to_them() {
        let volume = fields("io.k8s.api.core.v1.Volume").unwrap();
        let numbers = |name| {
            let field = volume.clone().find(|field| field.name == name).unwrap();
            field.numbers().collect::<Vec<_>>()
        };
        assert_eq!(numbers("name"), [1]);
        assert_eq!(numbers("secret"), [2, 6]);
    }
}
