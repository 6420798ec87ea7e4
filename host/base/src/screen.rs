//! What commands print: their answers on standard output, and what they do meanwhile on standard error (a verb to the right,
//! as cargo's).
//!
//! - Everything is printed here. Some of it is what a component, a host or an API server said: no such text moves a cursor,
//!   changes colours, or hides a part of itself.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::text::{clean_lines, escape_json};

/// The verbs end here.
const VERB: usize = 12;
/// The longest line of a text.
const LONGEST: usize = 4 << 10;
/// The longest line of an error, which may list everything that is wrong.
const LONGEST_ERROR: usize = 64 << 10;

/// Prints an answer for people, which may hold text of others.
///
/// # Errors
/// Nobody reads standard output any more.
pub fn print(text: &str) -> io::Result<()> {
    match text {
        "" => Ok(()),
        text => print_document(&(clean_lines(text, usize::MAX) + "\n")),
    }
}

/// Prints JSON. A character that a terminal does not show becomes an escape, which is the same text for a reader of JSON.
///
/// # Errors
/// As [`print()`].
pub fn print_json(text: &str) -> io::Result<()> {
    print_document(&escape_json(text))
}

/// Prints a document for a program, as it is: its writer has put text of others into quotes.
///
/// # Errors
/// As [`print()`].
#[expect(clippy::disallowed_methods, reason = "this is where it is printed")]
pub fn print_document(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// Prints text with colours, which have their place only in a terminal: its writer has cleaned text of others.
///
/// # Errors
/// As [`print()`].
pub fn print_styled(text: &str) -> io::Result<()> {
    anstream::stdout().write_all(text.as_bytes())
}

/// Says text on standard error, without a verb.
#[expect(clippy::print_stderr, reason = "this is where it is printed")]
pub fn complain(text: &str) {
    eprintln!("{}", clean_lines(text, LONGEST_ERROR));
}

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Work that goes on, or is done.
    Good,
    /// Somebody should look at it.
    Warning,
    /// It failed.
    Bad,
}

/// Says `verb` and `text`, whose further lines stand below its first.
///
/// # Errors
/// Nobody can hear it: the terminal is gone.
pub fn print_status(tone: Tone, verb: &str, text: &str) -> io::Result<()> {
    write("", tone, verb, text)
}

/// The same, with the time of day before the verb.
///
/// # Errors
/// As [`print_status`].
pub fn print_status_at(time: &str, tone: Tone, verb: &str, text: &str) -> io::Result<()> {
    write(&format!("{time} "), tone, verb, text)
}

fn write(front: &str, tone: Tone, verb: &str, text: &str) -> io::Result<()> {
    let style = match tone {
        Tone::Good => AnsiColor::Green,
        Tone::Warning => AnsiColor::Yellow,
        Tone::Bad => AnsiColor::Red,
    };
    let styled = Style::new().bold().fg_color(Some(style.into()));
    let line = laid_out(front.len(), verb, text);
    let (verb, rest) = line.split_at_checked(VERB).unwrap_or(("", &line));
    // One write, so that no other line comes between.
    let whole = format!("{front}{styled}{verb}{styled:#}{rest}\n");
    anstream::stderr().write_all(whole.as_bytes())
}

/// Says a line that belongs to the one before.
///
/// # Errors
/// As [`print_status`].
pub fn go_on(text: &str) -> io::Result<()> {
    print_status(Tone::Good, "", text)
}

/// The verb to the right, and each line of the text behind it, without what moves a cursor: some of it is a guest's. All
/// but the first line begin `front` further to the right, since something stands before that.
fn laid_out(front: usize, verb: &str, text: &str) -> String {
    let column = front + VERB;
    let text = clean_lines(text, LONGEST);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let mut out = format!("{verb:>VERB$} {first}");
    for line in lines {
        out.push_str(&format!("\n{:column$} {line}", ""));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_is_to_the_right_and_the_text_in_a_column() {
        assert_eq!(laid_out(0, "Created", "a/"), "     Created a/");
        assert_eq!(laid_out(0, "", "a\nb"), "             a\n             b");
        assert_eq!(
            format!("09:30:00 {}", laid_out(9, "Ready", "a\nb")),
            "09:30:00        Ready a\n                      b"
        );
    }

    #[test]
    fn nothing_that_a_guest_says_moves_a_cursor() {
        let said = laid_out(0, "Held", "greeter: \u{1b}[2Jgone\n\u{7}line");
        assert_eq!(
            said,
            "        Held greeter: \u{fffd}[2Jgone\n             \u{fffd}line"
        );
    }
}
