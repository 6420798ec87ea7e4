//! How much a description may say, and in which characters.
//!
//! - Each text may hold the characters that Kubernetes allows in the field that it becomes:
//!   <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>. All of them are printable ASCII, so no text
//!   ends a line, or hides a part of itself, in a document, a terminal or a log.

use crate::bindings::types;
use windlass_base::text::clean;

/// Kinds that a description may name as primaries.
const PRIMARIES: usize = 32;

/// Needs that a description may have, each for one resource of one group.
const RULES: usize = 256;

/// Entries that one of its lists may have.
const ENTRIES: usize = 64;

/// Bytes that one of its texts may have.
const TEXT: usize = 512;

/// CustomResourceDefinitions that it may carry, and bytes that they may have together.
const CRDS: usize = 64;
const CRD_BYTES: usize = 1 << 20;

/// The characters that a text of a description may hold.
#[derive(Clone, Copy, Debug)]
struct Alphabet {
    /// The name of the text, for errors.
    text: &'static str,
    /// The characters that the text may hold beside letters and digits of ASCII.
    marks: &'static str,
}

impl Alphabet {
    /// `text` is no more than `marks`, letters and digits.
    const fn new(text: &'static str, marks: &'static str) -> Self {
        Self { text, marks }
    }

    fn holds(self, c: char) -> bool {
        c.is_ascii_alphanumeric() || self.marks.contains(c)
    }
}

// As a value of a label, since labels and annotations carry both: and `+`, as semantic versions have it.
const NAME: Alphabet = Alphabet::new("name", "-._");
const VERSION: Alphabet = Alphabet::new("version", "-._+");
const API_VERSION: Alphabet = Alphabet::new("API version", "-./*");
const KIND: Alphabet = Alphabet::new("kind", "-*");
const GROUP: Alphabet = Alphabet::new("API group", "-.*");
const RESOURCE: Alphabet = Alphabet::new("resource", "-./*");
const VERB: Alphabet = Alphabet::new("verb", "-*");
// Names of some kinds are any segment of a path: `system:controller:job-controller`, `jane@example.com`.
const RESOURCE_NAME: Alphabet = Alphabet::new("resource name", "-._:@+~!$&'()*,;=");
const LABEL_SELECTOR: Alphabet = Alphabet::new("label selector", "-._/=!,()<> ");
const FIELD_SELECTOR: Alphabet = Alphabet::new("field selector", "-._/:=!,\\[]'\" ");
const FIELD: Alphabet = Alphabet::new("path of a field", "-._/:$[]'*@+~ ");
const ORIGIN: Alphabet = Alphabet::new("origin", "-._~:/[]%");

/// Refuses what no honest plugin needs: a description is read by the host's own threads.
pub(super) fn check(raw: &types::Description) -> Result<(), String> {
    let lists = raw.needs.iter().flat_map(|rule| {
        [
            &rule.api_groups,
            &rule.resources,
            &rule.resource_names,
            &rule.verbs,
            &rule.fields,
        ]
    });
    let primaries = || raw.primaries.iter();
    let fields = primaries().map(|primary| &primary.fields);
    let lists = lists.chain(fields).chain([&raw.origins]);
    let lists: Vec<&Vec<String>> = lists.collect();
    let pairs = raw
        .needs
        .iter()
        .map(|rule| rule.api_groups.len().saturating_mul(rule.resources.len()));
    let pairs = pairs.fold(0, usize::saturating_add);
    if raw.primaries.len() > PRIMARIES {
        let count = raw.primaries.len();
        return Err(format!(
            "it names {count} primary kinds: {PRIMARIES} is the most"
        ));
    }
    if raw.needs.len() > RULES || pairs > RULES || lists.iter().any(|list| list.len() > ENTRIES) {
        return Err(format!(
            "it has more than {RULES} needs, or a list of more than {ENTRIES} entries"
        ));
    }
    let crd_bytes = raw
        .crds
        .iter()
        .map(String::len)
        .fold(0, usize::saturating_add);
    if raw.crds.len() > CRDS || crd_bytes > CRD_BYTES {
        return Err(format!(
            "it carries more than {CRDS} CustomResourceDefinitions, or more than {CRD_BYTES} bytes of them"
        ));
    }
    texts(raw).try_for_each(|(alphabet, text)| check_text(alphabet, text))
}

/// Each text that a description holds, but for its definitions, and the characters that the text may hold.
fn texts(raw: &types::Description) -> impl Iterator<Item = (Alphabet, &String)> {
    let head = [(NAME, &raw.name), (VERSION, &raw.version)].into_iter();
    let of_primary = raw.primaries.iter().flat_map(|primary| {
        let names = [(API_VERSION, &primary.api_version), (KIND, &primary.kind)].into_iter();
        let labels = primary.label_selector.iter();
        let fields = primary.field_selector.iter();
        names
            .chain(labels.map(|text| (LABEL_SELECTOR, text)))
            .chain(fields.map(|text| (FIELD_SELECTOR, text)))
            .chain(primary.fields.iter().map(|text| (FIELD, text)))
    });
    let of_need = raw.needs.iter().flat_map(|rule| {
        let lists = [
            (GROUP, &rule.api_groups),
            (RESOURCE, &rule.resources),
            (RESOURCE_NAME, &rule.resource_names),
            (VERB, &rule.verbs),
            (FIELD, &rule.fields),
        ];
        let lists = lists.into_iter();
        lists.flat_map(|(alphabet, list)| list.iter().map(move |text| (alphabet, text)))
    });
    let origins = raw.origins.iter().map(|text| (ORIGIN, text));
    head.chain(of_primary).chain(of_need).chain(origins)
}

fn check_text(alphabet: Alphabet, text: &str) -> Result<(), String> {
    let Alphabet { text: what, marks } = alphabet;
    let shown = clean(text, 60);
    if text.len() > TEXT {
        return Err(format!(
            "its {what} {shown:?} has {} bytes: {TEXT} is the most",
            text.len()
        ));
    }
    match text.chars().find(|c| !alphabet.holds(*c)) {
        Some(c) => Err(format!(
            "its {what} {shown:?} holds the character {}: only letters and digits of ASCII and {marks} are allowed there",
            c.escape_unicode()
        )),
        None => Ok(()),
    }
}
