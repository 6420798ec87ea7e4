//! `windlass top`: what a host does, in a terminal, again every two seconds. The same as its status page shows.

mod draw;
mod state;

use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyEventKind};
use futures::StreamExt;

use clap::Args;

use state::{Asked, Next, Screen, View};
use windlass_base::error::Chain;
use windlass_base::screen::{print, print_json};
use windlass_base::seams::Seams;
use windlass_host::admin::client::{document, text};
use windlass_host::admin::folder;
use windlass_host::status::{Status, table};
use windlass_kube::flags::{HostFlags, OutputFormat};

/// Show what each plugin of a host does.
#[derive(Debug, Args)]
pub struct TopFlags {
    /// Print once, in this format [default: a view that refreshes; text once if there is no terminal]
    #[arg(long, short, value_name = "FORMAT")]
    pub output: Option<OutputFormat>,
    /// Which host
    #[command(flatten)]
    pub host: HostFlags,
}

/// How often it is looked again.
const AGAIN: Duration = Duration::from_secs(2);

/// Shows the status of a host until somebody quits; where there is no terminal, once.
///
/// # Errors
/// No host answers there; in a terminal, only at the first time.
pub async fn top(flags: TopFlags, seams: Seams) -> anyhow::Result<()> {
    let base = folder::find_host(flags.host.admin_url.as_deref(), Path::new("."), &seams).await;
    let base = base.as_str();
    let (status, json): (Status, String) = document(base, "/?o=json", &seams).await?;
    match flags.output {
        Some(OutputFormat::Json) => Ok(print_json(&json)?),
        None if is_terminal() => watch(base, status, &seams).await,
        Some(OutputFormat::Text) | None => Ok(print(&table(&status))?),
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing is printed")]
fn is_terminal() -> bool {
    stdout().is_terminal()
}

async fn watch(base: &str, status: Status, seams: &Seams) -> anyhow::Result<()> {
    let mut screen = Screen::new(status);
    // The terminal is as it was when this is dropped, however that comes.
    let mut terminal = Terminal(ratatui::try_init()?);
    let mut events = EventStream::new();
    let mut delay = AGAIN;
    loop {
        let (view, wait) = (screen.view().clone(), delay);
        // What is asked may take long where a host is stuck: keys work meanwhile.
        let mut looking = pin!(async {
            seams.clock.sleep(wait).await;
            look(base, &view, seams).await
        });
        delay = loop {
            terminal.0.draw(|frame| draw::draw(&screen, frame))?;
            let event = tokio::select! {
                biased;
                event = events.next() => event,
                answer = looking.as_mut() => {
                    screen.takes(answer.map_err(|error| Chain(&*error).to_string()));
                    break AGAIN;
                }
            };
            match event {
                Some(Ok(Event::Key(key))) if key.kind == KeyEventKind::Press => {
                    match screen.key(key) {
                        Next::Quit => return Ok(()),
                        Next::Look => break Duration::ZERO,
                        Next::Nothing => {}
                    }
                }
                // The size is asked for with each drawing.
                Some(Ok(_)) => {}
                // The terminal is gone.
                Some(Err(_)) | None => return Ok(()),
            }
        };
    }
}

/// What the host says of what is looked at.
async fn look(base: &str, view: &View, seams: &Seams) -> anyhow::Result<Asked> {
    Ok(match view {
        View::Plugins => Asked::Status(document(base, "/?o=json", seams).await?.0),
        View::Plugin(name) => {
            let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
            let path = format!("/plugins/{name}?o=json");
            Asked::Plugin(Box::new(document(base, &path, seams).await?.0))
        }
        View::Object { query, .. } => {
            Asked::Object(text(base, &format!("/why?{query}"), seams).await?)
        }
    })
}

struct Terminal(ratatui::DefaultTerminal);

impl Drop for Terminal {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
