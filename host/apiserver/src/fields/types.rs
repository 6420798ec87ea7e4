//! What a place in a schema is to those who own parts of it: structured-merge-diff's view of OpenAPI.
//!
//! - A place may hold one of several [`TypePart`]s where its schema leaves the type open; the value decides.
//! - Where there is no schema, maps are merged field by field and lists are one value.
//! - Custom resources, and resources embedded in them, have the real `metadata`, whatever their schema says.

use serde_json::{Map as Fields, Value};

use super::meta;
use super::path::PathElement;
use crate::json;
use crate::schema::{Kind, ListKind, View};
use crate::status::shown::quoted;

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// What may be at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type<'a> {
    /// A schema says it.
    Said(SchemaPlace<'a>),
    /// Anything: maps field by field, lists as one value.
    Deduced,
    /// Anything, inside a list that is one value.
    Untyped,
    /// Nothing: no schema knows the field.
    Undeclared,
}

/// A place in a schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaPlace<'a> {
    view: View<'a>,
    /// Fields that no schema names are kept here, or were further up.
    preserves_unknown: bool,
    /// The place holds an object with `apiVersion`, `kind` and `metadata` that its schema need not name.
    is_resource: bool,
}

/// What a type leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenType {
    map: bool,
    scalar: Option<Scalar>,
    list: bool,
}

/// The one thing that a value is taken for.
#[derive(Clone, Copy, Debug)]
pub(super) enum TypePart<'a> {
    Map(Map<'a>),
    Scalar(Scalar),
    List(List<'a>),
    Nothing,
}

/// A type as that of an object or a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Map<'a>(Type<'a>);

/// A type as that of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a>(Type<'a>);

/// A plain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    String,
    Boolean,
    Untyped,
}

impl<'a> Type<'a> {
    /// The type of whole objects.
    pub(super) fn root(view: View<'a>) -> Self {
        Self::Said(SchemaPlace {
            view,
            preserves_unknown: view.preserves_unknown(),
            is_resource: view.type_name().is_none(),
        })
    }

    pub(super) fn open(self) -> OpenType {
        match self {
            Self::Said(place) => place.open(),
            Self::Deduced | Self::Untyped => OpenType::ANYTHING,
            Self::Undeclared => OpenType::default(),
        }
    }

    /// What is left open is taken for the first thing that it can be.
    pub(super) fn part(self, open: OpenType) -> TypePart<'a> {
        match open {
            OpenType { map: true, .. } => TypePart::Map(Map(self)),
            OpenType {
                scalar: Some(scalar),
                ..
            } => TypePart::Scalar(scalar),
            OpenType { list: true, .. } => TypePart::List(List(self)),
            _ => TypePart::Nothing,
        }
    }

    /// What `value` is taken for.
    pub(super) fn part_of(self, value: &Value) -> TypePart<'a> {
        self.part(self.open().deduce(Some(value)))
    }

    pub(super) fn map(self) -> Option<Map<'a>> {
        self.open().map.then_some(Map(self))
    }

    pub(super) fn list(self) -> Option<List<'a>> {
        self.open().list.then_some(List(self))
    }

    /// Whether only the value says what it is, as far as schema changes go.
    fn is_deduced(self) -> bool {
        match self {
            Self::Deduced => true,
            Self::Said(place) => {
                let open = place.open();
                place.view.type_name().is_none() && open.scalar == Some(Scalar::Untyped)
            }
            Self::Untyped | Self::Undeclared => false,
        }
    }

    pub(super) fn is_undeclared(self) -> bool {
        matches!(self, Self::Undeclared)
    }
}

impl OpenType {
    const ANYTHING: Self = Self {
        map: true,
        scalar: Some(Scalar::Untyped),
        list: true,
    };

    fn scalar(scalar: Scalar) -> Self {
        Self {
            scalar: Some(scalar),
            ..Self::default()
        }
    }

    /// Leaves only what fits `value`; everything where there is no value, `null`, or nothing fits.
    pub(super) fn deduce(self, value: Option<&Value>) -> Self {
        let nothing = Self::default();
        let only = match value {
            Some(Value::Number(_) | Value::String(_) | Value::Bool(_)) => Self {
                scalar: self.scalar,
                ..nothing
            },
            Some(Value::Array(_)) => Self {
                list: self.list,
                ..nothing
            },
            Some(Value::Object(_)) => Self {
                map: self.map,
                ..nothing
            },
            Some(Value::Null) | None => self,
        };
        if only == nothing { self } else { only }
    }
}

impl<'a> SchemaPlace<'a> {
    fn child(self, view: View<'a>) -> Type<'a> {
        // A named type stands for itself, whatever is around its use.
        let inherited = self.preserves_unknown && view.type_name().is_none();
        Type::Said(Self {
            view,
            preserves_unknown: inherited || view.preserves_unknown(),
            is_resource: view.is_embedded(),
        })
    }

    fn open(self) -> OpenType {
        match self.view.type_name() {
            Some(QUANTITY) => return OpenType::scalar(Scalar::Untyped),
            Some(RAW_EXTENSION) => return OpenType::ANYTHING,
            _ => {}
        }
        let nothing = OpenType::default();
        match self.view.kind() {
            Some(Kind::Object) => OpenType {
                map: true,
                ..nothing
            },
            Some(Kind::Array) => OpenType {
                list: true,
                ..nothing
            },
            Some(Kind::Integer | Kind::Number) => OpenType::scalar(Scalar::Numeric),
            Some(Kind::Boolean) => OpenType::scalar(Scalar::Boolean),
            Some(Kind::String) => OpenType::scalar(match self.view.node().format.as_deref() {
                None | Some("" | "byte") => Scalar::String,
                Some(_) => Scalar::Untyped,
            }),
            None | Some(Kind::IntOrString) => OpenType::ANYTHING,
        }
    }

    /// Raw extensions are objects of any kind, as one value.
    fn is_raw(self) -> bool {
        self.view.type_name() == Some(RAW_EXTENSION)
    }

    fn has_fields(self) -> bool {
        self.is_resource || !self.view.node().properties.is_empty()
    }

    fn property(self, name: &str) -> Option<View<'a>> {
        if self.is_resource
            && let Some(own) = meta::resource().property(name)
        {
            return Some(own);
        }
        self.view.property(name)
    }
}

impl<'a> Map<'a> {
    /// Whether it is one value.
    pub(super) fn is_atomic(self) -> bool {
        match self.0 {
            Type::Said(place) => place.view.is_atomic_map() || place.is_raw(),
            Type::Untyped => true,
            Type::Deduced | Type::Undeclared => false,
        }
    }

    /// The type of fields that the schema does not name.
    pub(super) fn values(self) -> Type<'a> {
        let Type::Said(place) = self.0 else {
            return self.0;
        };
        match place.view.values() {
            _ if place.is_raw() => Type::Untyped,
            Some(values) => place.child(values),
            None if place.preserves_unknown || !place.has_fields() => Type::Deduced,
            None => Type::Undeclared,
        }
    }

    /// The type of a field that the schema names.
    pub(super) fn declared(self, name: &str) -> Option<Type<'a>> {
        match self.0 {
            Type::Said(place) => Some(place.child(place.property(name)?)),
            Type::Deduced | Type::Untyped | Type::Undeclared => None,
        }
    }

    /// The type of any field.
    pub(super) fn field(self, name: &str) -> Type<'a> {
        self.declared(name).unwrap_or_else(|| self.values())
    }

    /// Whether the schema names no field, and leaves open what they are.
    pub(super) fn is_deduced(self) -> bool {
        let has_fields = matches!(self.0, Type::Said(place) if place.has_fields());
        !has_fields && self.values().is_deduced()
    }
}

impl<'a> List<'a> {
    fn kind(self) -> &'a ListKind {
        match self.0 {
            Type::Said(place) if !place.is_raw() => place.view.list(),
            _ => &ListKind::Atomic,
        }
    }

    /// Whether it is one value.
    pub(super) fn is_atomic(self) -> bool {
        *self.kind() == ListKind::Atomic
    }

    /// The type of its items.
    pub(super) fn items(self) -> Type<'a> {
        match self.0 {
            Type::Said(place) if !place.is_raw() => {
                let items = place.view.items();
                items.map_or(Type::Untyped, |items| place.child(items))
            }
            _ => Type::Untyped,
        }
    }

    /// What tells an item apart from the others.
    ///
    /// # Errors
    /// If nothing does; the text is the real server's.
    pub(super) fn step(self, item: &Value) -> Result<PathElement, String> {
        match self.kind() {
            ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListKind::Map(keys) if !keys.is_empty() => self.key(keys, item),
            ListKind::Map(_) | ListKind::Set => set_step(item).map_err(str::to_owned),
        }
    }

    fn key(self, keys: &[String], item: &Value) -> Result<PathElement, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let value = match fields.get(key) {
                Some(value) => Some(value),
                None => self.key_default(key)?,
            };
            if let Some(value) = value {
                found.push((key.clone(), value.clone()));
            }
        }
        if found.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(PathElement::Key(found))
    }

    fn key_default(self, key: &str) -> Result<Option<&'a Value>, String> {
        let Some(Map(items)) = self.items().map() else {
            return Err(format!(
                "couldn't find default value for {key}: associative list may not have non-map types"
            ));
        };
        let Type::Said(place) = items else {
            return Ok(None);
        };
        Ok(place.property(key).and_then(|view| view.default()))
    }
}

fn set_step(item: &Value) -> Result<PathElement, &'static str> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type"),
        Value::Array(_) => Err("not supported: associative list with lists as elements"),
        Value::Null => Err("associative list without keys has an element that's an explicit null"),
        plain => Ok(PathElement::Value(plain.clone())),
    }
}

/// The fields of a value; nothing where it is not an object.
pub(super) fn fields(value: Option<&Value>) -> Option<&Fields<String, Value>> {
    value.and_then(Value::as_object)
}

/// The items of a value; none where it is not a list.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.map(json::items).unwrap_or_default()
}
