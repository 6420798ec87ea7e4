//! What the schema says about a field on the way through a strategic merge patch.

use super::PatchError;
use crate::schema::{Kind, PatchStrategy, View};

static NO_STRATEGY: PatchStrategy = PatchStrategy {
    merge: false,
    replace: false,
    retain_keys: false,
    key: None,
};

/// Where the walk is, as far as there are fields to look up.
#[derive(Clone, Copy, Debug)]
pub(super) enum PatchPlace<'a> {
    /// At an object with declared fields.
    Fields(View<'a>),
    /// At something without any; Go's word for it.
    Other(&'static str),
}

impl<'a> PatchPlace<'a> {
    fn of(view: View<'a>) -> Self {
        match view.kind() {
            Some(Kind::Object) if view.values().is_some() => Self::Other("map"),
            Some(Kind::Array) => Self::Other("slice"),
            Some(Kind::String) => Self::Other("string"),
            Some(Kind::Boolean) => Self::Other("bool"),
            Some(Kind::Integer) => Self::Other("int32"),
            _ => Self::Fields(view),
        }
    }

    /// `LookupPatchMetadataForStruct`.
    pub(super) fn of_object(self, name: &str) -> Result<(Self, &'a PatchStrategy), PatchError> {
        let field = self.field(name)?;
        Ok((Self::of(field), field.patch().unwrap_or(&NO_STRATEGY)))
    }

    /// `LookupPatchMetadataForSlice`: the place is that of the items.
    pub(super) fn of_list(self, name: &str) -> Result<(Self, &'a PatchStrategy), PatchError> {
        let field = self.field(name)?;
        let strategy = field.patch().unwrap_or(&NO_STRATEGY);
        match field.items() {
            Some(items) => match Self::of(items) {
                Self::Other("slice") => {
                    Err(PatchError::Fault("unexpected slice of slice".to_owned()))
                }
                place => Ok((place, strategy)),
            },
            None => Err(PatchError::Fault(
                "expected slice or array type, but got: struct".to_owned(),
            )),
        }
    }

    fn field(self, name: &str) -> Result<View<'a>, PatchError> {
        match self {
            Self::Other(word) => Err(PatchError::Fault(format!(
                "merging an object in json but data type is not struct, instead is: {word}"
            ))),
            Self::Fields(view) => view.property(name).ok_or_else(|| {
                let type_name = view.type_name().unwrap_or_default();
                let type_name = type_name.rsplit('.').next().unwrap_or_default();
                PatchError::Fault(format!(
                    "unable to find api field in struct {type_name} for the json field {name:?}"
                ))
            }),
        }
    }
}
