//! Draws what is shown.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use super::state::{Screen, View};
use windlass_base::text::{counted, format_duration};
use windlass_host::status::{COLUMNS, PluginStatus, cells};

/// So many lines of warnings are shown at most.
const WARNINGS: u16 = 8;

/// Draws the screen.
pub(super) fn draw(screen: &Screen, frame: &mut Frame<'_>) {
    let warnings = warnings(screen);
    let height = u16::try_from(warnings.len()).unwrap_or(WARNINGS);
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(height.min(WARNINGS)),
        Constraint::Min(1),
        Constraint::Length(1),
    ]);
    let [head, warned, body, foot] = rows.areas(frame.area());
    frame.render_widget(Paragraph::new(headline(screen)), head);
    let red = Style::new().fg(Color::Red);
    let warnings: Vec<Line<'_>> = warnings.into_iter().map(Line::from).collect();
    frame.render_widget(Paragraph::new(warnings).style(red), warned);
    let mut state = TableState::new().with_selected(screen.selected);
    match screen.view() {
        View::Plugins => frame.render_stateful_widget(plugins(screen), body, &mut state),
        View::Plugin(_) => frame.render_stateful_widget(keys(screen), body, &mut state),
        View::Object { .. } => {
            let text = screen.why.as_deref().unwrap_or("asking …");
            let scroll = u16::try_from(screen.selected).unwrap_or(u16::MAX);
            let text = Paragraph::new(text).wrap(Wrap { trim: false });
            frame.render_widget(text.scroll((scroll, 0)), body);
        }
    }
    let help = match screen.view() {
        View::Plugins => format!(
            "enter plugin   s sort (by {})   r refresh   q quit",
            screen.sort.label()
        ),
        View::Plugin(_) => "enter object   esc back   r refresh   q quit".to_owned(),
        View::Object { .. } => "j k scroll   esc back   r refresh   q quit".to_owned(),
    };
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(help).style(dim), foot);
}

fn headline(screen: &Screen) -> String {
    let status = &screen.status;
    match screen.view() {
        View::Plugins => {
            let up = format_duration(Duration::from_millis(status.up_ms));
            let (version, host) = (&status.version, &status.host);
            format!("windlass {version} on {host}, up {up}")
        }
        View::Plugin(name) => {
            let details = screen.details.as_ref();
            let about = details.map(|details| {
                let status = &details.status;
                let passes = &status.passes;
                format!(
                    "   {}, {}, {} failed; now failing: {}, paused: {}{}",
                    status.state,
                    counted(passes.total, "pass"),
                    passes.failed,
                    status.failing,
                    status.paused,
                    observed(status)
                )
            });
            format!("{name}{}", about.unwrap_or_default())
        }
        View::Object { name, .. } => name.clone(),
    }
}

/// What a plugin that observes would write.
fn observed(status: &PluginStatus) -> String {
    match status.observes {
        true => format!("; it observes, and would write for {}", status.differing),
        false => String::new(),
    }
}

/// What somebody should look at.
fn warnings(screen: &Screen) -> Vec<String> {
    let problem = screen.problem.iter().cloned();
    let told: Vec<String> = match screen.view() {
        View::Plugins => {
            let status = &screen.status;
            let plugins =
                status.plugins.iter().flat_map(|plugin| {
                    let name = &plugin.name;
                    let message = plugin.own_message().into_iter();
                    let message = message.map(move |message| format!("{name}: {message}"));
                    let warnings = plugin.warnings.iter();
                    message.chain(warnings.map(move |warning| {
                        format!("{name}: {}: {}", warning.reason, warning.message)
                    }))
                });
            status.problems.iter().cloned().chain(plugins).collect()
        }
        View::Plugin(_) => {
            let warnings = screen
                .details
                .iter()
                .flat_map(|it| &it.status.warnings)
                .map(|it| format!("{}: {}", it.reason, it.message));
            warnings.collect()
        }
        View::Object { .. } => Vec::new(),
    };
    problem.chain(told).collect()
}

fn plugins(screen: &Screen) -> Table<'_> {
    let rows: Vec<Vec<String>> = screen
        .status
        .plugins
        .iter()
        .map(|plugin| cells(plugin).to_vec())
        .collect();
    table(COLUMNS.map(str::to_owned).to_vec(), rows)
}

fn keys(screen: &Screen) -> Table<'_> {
    let rows = screen.keys().into_iter().map(|(head, key)| {
        let count = |failures: u32| match failures {
            0 => String::new(),
            failures => failures.to_string(),
        };
        let next = key
            .next_ms
            .map(|next| format_duration(Duration::from_millis(next)));
        let error = key.error.as_ref().unwrap_or(&key.returned).clone();
        vec![
            head.to_owned(),
            key.to_string(),
            format_duration(Duration::from_micros(key.took_us)),
            count(key.failures),
            next.unwrap_or_default(),
            error,
        ]
    });
    let head = ["", "OBJECT", "TOOK", "FAILURES", "NEXT", "RETURNED"];
    table(head.map(str::to_owned).to_vec(), rows.collect())
}

/// A table whose columns are as wide as what is in them.
fn table<'a>(head: Vec<String>, rows: Vec<Vec<String>>) -> Table<'a> {
    let width = |at: usize| {
        let all = rows.iter().chain([&head]);
        let widths = all.filter_map(|row| row.get(at).map(|cell| cell.chars().count()));
        u16::try_from(widths.max().unwrap_or_default()).unwrap_or(u16::MAX)
    };
    let widths: Vec<Constraint> = (0..head.len())
        .map(|at| Constraint::Length(width(at)))
        .collect();
    let row = |cells: Vec<String>| Row::new(cells.into_iter().map(Cell::from).collect::<Vec<_>>());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let selected = Style::new().add_modifier(Modifier::REVERSED);
    let head = row(head).style(bold);
    Table::new(rows.into_iter().map(row), widths)
        .header(head)
        .column_spacing(2)
        .row_highlight_style(selected)
}

#[cfg(test)]
mod tests;
