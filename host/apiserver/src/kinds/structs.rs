//! What the Go structs behind the types say and OpenAPI does not.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value};

use super::data;

static TEXT: LazyLock<String> = LazyLock::new(|| data::unpack(data::STRUCTS));
/// What was captured of each struct, and what was made of it since.
static STRUCTS: LazyLock<HashMap<&'static str, Captured>> = LazyLock::new(|| {
    let lines = TEXT.lines().filter_map(|line| line.split_once('\t'));
    let captured = |text| Captured {
        text,
        read: OnceLock::new(),
    };
    lines.map(|(name, text)| (name, captured(text))).collect()
});

struct Captured {
    text: &'static str,
    read: OnceLock<Struct>,
}

/// A struct, as far as it was asked for.
#[derive(Debug)]
pub(crate) struct Struct {
    /// Sorted by name.
    fields: Vec<StructField>,
    /// What Go writes for fields that are not there.
    pub(crate) zero: OnceLock<Map<String, Value>>,
    /// What the server puts in fields that are not there, and whether they are pointers.
    pub(crate) defaults: OnceLock<Vec<(&'static str, Value, bool)>>,
}

impl Struct {
    pub(crate) fn fields(&self) -> &[StructField] {
        &self.fields
    }

    pub(crate) fn field(&self, name: &str) -> Option<&StructField> {
        let place = self.fields.binary_search_by(|field| field.name.cmp(name));
        self.fields.get(place.ok()?)
    }
}

/// A field of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StructField {
    pub(crate) name: &'static str,
    /// How many come before it in the struct.
    pub(crate) rank: usize,
    /// `omitempty`: it stays away when it is empty.
    pub(crate) omits_empty: bool,
    /// `omitzero`: the same for structs.
    pub(crate) omits_zero: bool,
    /// Its number in protobuf, after those of the embedded structs it is in; empty where it has none.
    numbers: &'static str,
    /// The names of the embedded structs it is in, as far as they have numbers.
    pub(crate) embedded: &'static [&'static str],
    /// Its type, such as `*int32`, `[]v1.Container`.
    go: &'static str,
}

impl StructField {
    /// A field of a struct of this name.
    fn parse(within: &str, rank: usize, text: &'static str) -> Option<Self> {
        let mut parts = text.splitn(4, ',');
        let (name, flags) = (parts.next()?, parts.next()?);
        let (numbers, go) = (parts.next()?, parts.next()?);
        let depth = numbers.matches('.').count();
        Some(Self {
            rank,
            embedded: embedded(within).get(..depth).unwrap_or_default(),
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

/// The names of all structs.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STRUCTS.keys().copied()
}

/// The structs that one embeds, each within the one before.
fn embedded(type_name: &str) -> &'static [&'static str] {
    let (_, local) = type_name.rsplit_once('.').unwrap_or_default();
    match local {
        "ConfigMapEnvSource"
        | "ConfigMapKeySelector"
        | "ConfigMapProjection"
        | "ConfigMapVolumeSource"
        | "SecretEnvSource"
        | "SecretKeySelector"
        | "SecretProjection" => &["LocalObjectReference"],
        "DeviceAllocationConfiguration"
        | "DeviceClaimConfiguration"
        | "DeviceClassConfiguration" => &["DeviceConfiguration"],
        "EphemeralContainer" => &["EphemeralContainerCommon"],
        "IngressRule" => &["IngressRuleValue"],
        "NamedRuleWithOperations" => &["RuleWithOperations", "Rule"],
        "PersistentVolumeSpec" => &["PersistentVolumeSource"],
        "Probe" => &["ProbeHandler"],
        "RuleWithOperations" => &["Rule"],
        "Volume" => &["VolumeSource"],
        _ => &[],
    }
}

/// The struct behind a type; nothing for types that are none.
pub(crate) fn of(type_name: &str) -> Option<&'static Struct> {
    let captured = STRUCTS.get(type_name)?;
    Some(captured.read.get_or_init(|| {
        let mut fields: Vec<StructField> = captured
            .text
            .split(' ')
            .enumerate()
            .filter_map(|(rank, text)| StructField::parse(type_name, rank, text))
            .collect();
        fields.sort_by_key(|field| field.name);
        Struct {
            fields,
            zero: OnceLock::new(),
            defaults: OnceLock::new(),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::types;

    #[test]
    fn every_struct_has_the_fields_that_openapi_says() {
        assert!(STRUCTS.len() > 400);
        for name in STRUCTS.keys() {
            let schema = types::schema(name);
            let view = schema.view();
            let fields = of(name).unwrap().fields();
            for field in fields {
                assert!(view.property(field.name).is_some(), "{name}.{}", field.name);
            }
            assert_eq!(fields.len(), view.properties().count(), "{name}");
        }
    }

    #[test]
    fn fields_of_embedded_structs_have_the_numbers_on_the_way_to_them() {
        let volume = of("io.k8s.api.core.v1.Volume").unwrap();
        let numbers = |name| volume.field(name).unwrap().numbers().collect::<Vec<_>>();
        assert_eq!(numbers("name"), [1]);
        assert_eq!(numbers("secret"), [2, 6]);
    }

    #[test]
    fn the_names_of_embedded_structs_are_known() {
        for name in STRUCTS.keys() {
            for field in of(name).unwrap().fields() {
                let depth = field.numbers().count().saturating_sub(1);
                assert_eq!(field.embedded.len(), depth, "{name}.{}", field.name);
            }
        }
    }
}
