//! The captured data, packed.

use std::io::Read;

use flate2::read::GzDecoder;

/// Groups, versions and resources: one JSON document.
pub(crate) const RESOURCES: &[u8] = include_bytes!("../../data/resources.json.gz");
/// Types by name: a line each, with a tab between the name and the schema.
pub(crate) const TYPES: &[u8] = include_bytes!("../../data/types.jsonl.gz");
/// Fields of Go structs: a line for each type, as above.
pub(crate) const STRUCTS: &[u8] = include_bytes!("../../data/structs.txt.gz");
/// What the server adds to objects: one JSON document.
pub(crate) const DEFAULTS: &[u8] = include_bytes!("../../data/defaults.json.gz");
/// The names of time zones in the IANA database of Go: a line each.
pub(crate) const ZONES: &[u8] = include_bytes!("../../data/zones.txt.gz");
/// Texts of types and their fields: a line each, as above.
pub(crate) const TEXTS: &[u8] = include_bytes!("../../data/texts.jsonl.gz");

/// Unpacks one of the above; nothing if it is damaged.
pub(crate) fn unpack(packed: &[u8]) -> String {
    let mut text = String::new();
    match GzDecoder::new(packed).read_to_string(&mut text) {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}
