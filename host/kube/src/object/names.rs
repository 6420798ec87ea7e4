//! The names that a plugin's finalizer and field managers have in objects.

/// The finalizer of the plugin called `plugin`.
pub fn finalizer_of(plugin: &str) -> String {
    format!("windlass.dev/{plugin}")
}

/// The field manager of what the primaries of the plugin called `plugin` own.
pub fn manager_of(plugin: &str) -> String {
    format!("windlass/{plugin}")
}

/// The field manager of what the primary with this UID has the plugin write and does not own: so two primaries can
/// share an object, and each takes back only its own part.
pub fn manager_for(plugin: &str, uid: &str) -> String {
    let is_digit = char::is_ascii_hexdigit;
    let digits: String = uid.chars().filter(is_digit).take(8).collect();
    format!("{}/{digits}", manager_of(plugin))
}
