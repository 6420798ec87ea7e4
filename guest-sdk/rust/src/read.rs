//! What the types of this crate share in being read from JSON, key by key.
//!
//! Derived code for a type with a flattened rest first keeps what it does not know in a form of its own. Without that a
//! plugin is a tenth smaller, and has less to do.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;

/// The name of a field, borrowed where the text has it as it is.
pub(crate) struct Key<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Owned(key.to_owned())))
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Borrowed(key)))
    }

    fn visit_string<E: Error>(self, key: String) -> Result<Self::Value, E> {
        Ok(Key(Cow::Owned(key)))
    }
}

/// The value of a field that is not there: none for what may be absent, otherwise an error.
///
/// # Errors
/// `T` is nothing that may be absent.
pub(crate) fn absent<'de, T: Deserialize<'de>, E: Error>(field: &'static str) -> Result<T, E> {
    T::deserialize(Absent(field, PhantomData))
}

struct Absent<E>(&'static str, PhantomData<E>);

impl<'de, E: Error> Deserializer<'de> for Absent<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::missing_field(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
