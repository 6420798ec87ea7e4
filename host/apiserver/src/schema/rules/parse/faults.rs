//! What is wrong with an expression, as cel-go shows it (`common/error.go` and `common/errors.go`).

/// More are only counted.
pub(crate) const SHOWN: usize = 100;
/// Longer lines are not shown.
const LONGEST_LINE: usize = 16_384;

/// What is wrong, and where: the line counts from one, the column from zero.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SyntaxError {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) why: String,
}

impl SyntaxError {
    /// One of the whole text.
    pub(super) fn whole(why: &str) -> String {
        format!("ERROR: <input>:-1:0: {why}")
    }

    /// One at a byte of a text.
    pub(crate) fn at(text: &str, at: usize, why: String) -> Self {
        let before = text.get(..at).unwrap_or_default();
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.get(begin..).unwrap_or_default().chars().count(),
            why,
        }
    }

    fn format(&self, text: &str) -> String {
        let mut shown = format!(
            "ERROR: <input>:{}:{}: {}",
            self.line,
            self.column + 1,
            self.why
        );
        let line = text.split('\n').nth(self.line.saturating_sub(1));
        let Some(line) = line.filter(|line| line.len() <= LONGEST_LINE && !text.is_empty()) else {
            return shown;
        };
        shown.push_str("\n | ");
        shown.push_str(&line.replace('\t', " "));
        shown.push_str("\n | ");
        let mut letters = line.chars();
        for letter in letters.by_ref().take(self.column) {
            shown.push(if letter.len_utf8() > 1 { '．' } else { '.' });
        }
        let wide = letters.next().is_some_and(|letter| letter.len_utf8() > 1);
        shown.push(if wide { '＾' } else { '^' });
        shown
    }
}

/// All that is wrong with a text, in the order of the places; `more` is how many there are beyond.
pub(crate) fn messages(text: &str, mut faults: Vec<SyntaxError>, more: usize) -> String {
    let more = more + faults.len().saturating_sub(SHOWN);
    faults.truncate(SHOWN);
    faults.sort_by_key(|fault| (fault.line, fault.column));
    let mut shown: Vec<String> = faults.iter().map(|fault| fault.format(text)).collect();
    if more > 0 {
        shown.push(format!("{more} more errors were truncated"));
    }
    shown.join("\n")
}
