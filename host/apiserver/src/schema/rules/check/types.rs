//! The types of expressions, as far as they are known.

use kube_cel::cel::common::ast::LiteralValue;

use crate::schema::{Kind, View};

#[derive(Clone, Copy, Debug)]
pub(crate) enum CelType<'a> {
    /// Nobody knows.
    Dyn,
    Bool,
    Int,
    Double,
    Text,
    Bytes,
    /// A list of such items.
    List(View<'a>),
    /// A map to such values.
    Map(View<'a>),
    /// The fields of a schema, and those that all objects have.
    Fields(View<'a>, bool),
}

impl<'a> CelType<'a> {
    pub(crate) fn of(schema: View<'a>, is_object: bool) -> Self {
        let format = schema.node().format.as_deref().unwrap_or_default();
        match schema.kind() {
            None | Some(Kind::IntOrString) => Self::Dyn,
            Some(Kind::Boolean) => Self::Bool,
            Some(Kind::Integer) => Self::Int,
            Some(Kind::Number) => Self::Double,
            Some(Kind::String) if format == "byte" => Self::Bytes,
            Some(Kind::String) if ["date", "date-time", "duration"].contains(&format) => Self::Dyn,
            Some(Kind::String) => Self::Text,
            Some(Kind::Array) => schema.items().map_or(Self::Dyn, Self::List),
            Some(Kind::Object) => match schema.values() {
                Some(values) => Self::Map(values),
                None => Self::Fields(schema, is_object || schema.is_embedded()),
            },
        }
    }

    /// The name of a scalar type.
    pub(crate) fn scalar(self) -> Option<&'static str> {
        match self {
            Self::Bool => Some("bool"),
            Self::Int => Some("int"),
            Self::Double => Some("double"),
            Self::Text => Some("string"),
            Self::Bytes => Some("bytes"),
            Self::Dyn | Self::List(_) | Self::Map(_) | Self::Fields(..) => None,
        }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Double)
    }
}

pub(super) fn literal_type<'a>(literal: &LiteralValue) -> CelType<'a> {
    match literal {
        LiteralValue::Boolean(_) => CelType::Bool,
        LiteralValue::Int(_) => CelType::Int,
        LiteralValue::Double(_) => CelType::Double,
        LiteralValue::String(_) => CelType::Text,
        LiteralValue::Bytes(_) => CelType::Bytes,
        LiteralValue::Null | LiteralValue::UInt(_) => CelType::Dyn,
    }
}
