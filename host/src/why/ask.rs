//! `windlass why`: asks a host that runs.

use std::io::Write;
use std::path::Path;

use anyhow::bail;

use super::answer::Answer;
use super::{dot, text};
use crate::admin::client::document;
use crate::admin::folder;
use crate::args::{WhyFlags, WhyOutput, named};
use crate::seams::Seams;

/// Asks, and prints the answer.
///
/// # Errors
/// No host answers there, or what is asked for is none.
pub async fn ask(flags: WhyFlags, seams: Seams) -> anyhow::Result<()> {
    let Some((kind, name)) = named(&flags.object) else {
        bail!("name one object, as KIND/NAME or KIND NAME");
    };
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("kind", kind).append_pair("name", name);
    if let Some(namespace) = &flags.namespace {
        query.append_pair("namespace", namespace);
    }
    let query: String = query.append_pair("o", "json").finish();
    let path = format!("/why?{query}");
    let base = folder::asked(flags.host.admin_url.as_deref(), Path::new("."), &seams).await;
    let (answer, json): (Answer, String) = document(&base, &path, &seams).await?;
    let shown = match flags.output {
        WhyOutput::Text => text(&answer),
        WhyOutput::Json => json,
        WhyOutput::Dot => dot(&answer),
    };
    Ok(std::io::stdout().lock().write_all(shown.as_bytes())?)
}
