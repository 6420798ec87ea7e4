//! Text that moves a terminal's cursor, forges lines or carries markup, everywhere that text can go.

use serde_json::json;

use crate::{API_VERSION, Failure, KIND, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster;
use windlass_sdk::bindings::windlass::plugin::events::{self, Event, Severity};
use windlass_sdk::bindings::windlass::plugin::log::{self, Field, Level};
use windlass_sdk::bindings::windlass::plugin::metrics::{self, Label};

/// Markup, terminal codes, line ends, and characters that change the direction of text or are not seen.
const LIE: &str = "</td><script>alert(1)</script>\u{1b}[2J\u{1b}[31mowned\u{0}\r\nlevel=error \
    forged=true\u{202e}\u{2028}\u{200f}\u{200b}\u{61c}\u{feff}";

/// Writes the text to the log, a metric, standard output, an Event and an object, and fails with it.
pub(crate) fn lie(primary: &Primary) -> Outcome {
    let text = || LIE.to_owned();
    let field = Field {
        key: text(),
        value: text(),
    };
    log::log(Level::Error, LIE, &[field]);
    let label = Label {
        name: "of".to_owned(),
        value: text(),
    };
    metrics::add("lies", &[label], 1.0);
    println!("{LIE}");
    events::publish(&Event {
        regarding: None,
        related: None,
        severity: Severity::Warning,
        reason: "Lie".to_owned(),
        action: "Tell".to_owned(),
        note: text(),
    });
    let object = json!({
        "apiVersion": API_VERSION, "kind": KIND,
        "metadata": { "name": primary.name, "namespace": primary.namespace },
        "spec": { "\u{1b}[31m<b>x": LIE },
    });
    let _ = cluster::apply(&object.to_string());
    Err(Failure::Transient(LIE.repeat(200)))
}
