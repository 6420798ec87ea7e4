//! Texts that Go's `yaml` reads and our parser does not, or not in the same way: written so that both read the same.
//!
//! Our parser follows YAML 1.2, and Go's is libyaml. In libyaml, further lines of a text in quotes may begin anywhere, tabs
//! may indent in brackets, and U+0085 ends a line. Each line stays where it is, so that errors name the right one.

use std::ops::ControlFlow;

/// The text as our parser must be given it; none if it is the same.
pub fn as_go(text: &str) -> Option<String> {
    let scanner = Scanner::of(text).run();
    (scanner.out != text).then_some(scanner.out)
}

/// The text of a request's body as our parser must be given it; none if it is the same. A block scalar at the end of a body
/// without a last newline has none either. (kubectl adds one to a file.)
pub fn body_as_go(text: &str) -> Option<String> {
    let mut scanner = Scanner::of(text).run();
    let last = text.rsplit('\n').next().unwrap_or_default();
    if !last.trim().is_empty()
        && let Some(at) = scanner.open_block
    {
        let rest = scanner.out.split_off(at);
        scanner.out.push('-');
        scanner
            .out
            .push_str(rest.strip_prefix(['+', '-']).unwrap_or(&rest));
    }
    (scanner.out != text).then_some(scanner.out)
}

/// Whether a text has a character that Go's `yaml` takes for the end of a line, and ours does not.
pub fn has_other_breaks(text: &str) -> bool {
    text.contains(is_other_break)
}

/// A line ends with it, and is read as ending with `\n`.
const NEXT_LINE: char = '\u{85}';

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// How many brackets are open.
    flow: usize,
    /// The column of the token.
    column: usize,
    /// The column of the innermost node that began in this line; none if no node with children can begin there.
    node: Option<usize>,
    /// How far a line must be indented to go on with the plain scalar that the line before ended in.
    plain: Option<usize>,
    /// Where in `out` the last header of a block scalar says how it ends, if the scalar goes on to the end of the text.
    open_block: Option<usize>,
}

impl<'a> Scanner<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            out: String::with_capacity(text.len()),
            flow: 0,
            column: 0,
            node: None,
            plain: None,
            open_block: None,
        }
    }

    fn run(mut self) -> Self {
        while self.peek().is_some() {
            self.indentation();
            while self.token().is_continue() {}
        }
        self
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    /// Takes a character as it is.
    fn take(&mut self) {
        if let Some(taken) = self.peek() {
            self.skip(taken);
            self.out.push(taken);
        }
    }

    /// Takes a character without writing it.
    fn skip(&mut self, taken: char) {
        self.at += taken.len_utf8();
        self.column = if taken == '\n' { 0 } else { self.column + 1 };
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.take();
        }
    }

    /// The beginning of a line.
    fn indentation(&mut self) {
        (self.column, self.node) = (0, None);
        if self.flow > 0 {
            while let Some(blank) = self.peek().filter(|it| is_blank(*it)) {
                self.skip(blank);
                self.out.push(' ');
            }
        } else {
            self.take_while(|it| it == ' ');
            let goes_on = self.plain.is_some_and(|least| self.column >= least);
            match self.peek() {
                // An empty line is a part of it.
                Some(next) if is_break(next) => return,
                Some(next) if goes_on && next != '#' => return self.plain(),
                _ => self.plain = None,
            }
            let marks = ["---", "..."];
            let is_mark = |mark: &&str| self.rest().starts_with(*mark) && self.column == 0;
            if self.peek() == Some('%') && self.column == 0 {
                self.take_while(|it| !is_break(it));
            } else if marks.iter().any(is_mark) {
                (0..3).for_each(|_| self.take());
            }
        }
    }

    /// The next token of a line.
    fn token(&mut self) -> ControlFlow<()> {
        self.take_while(is_blank);
        let Some(first) = self.peek() else {
            return ControlFlow::Break(());
        };
        let before = self.out.chars().next_back();
        let ends = self
            .peek_second()
            .is_none_or(|it| is_blank(it) || is_break(it));
        match first {
            _ if is_other_break(first) => {
                self.skip(first);
                self.out.push('\n');
                return ControlFlow::Break(());
            }
            _ if is_break(first) => {
                self.take();
                return ControlFlow::Break(());
            }
            '#' if before.is_none_or(|it| is_blank(it) || is_break(it)) => {
                self.take_while(|it| !is_break(it));
            }
            '-' | '?' if self.flow == 0 && ends => {
                self.node = Some(self.column);
                self.take();
            }
            ':' if ends => self.take(),
            '[' | '{' => {
                self.flow += 1;
                self.take();
            }
            ']' | '}' if self.flow > 0 => {
                self.flow -= 1;
                self.take();
            }
            ',' if self.flow > 0 => self.take(),
            '"' | '\'' => {
                self.begins_node();
                self.quoted(first);
            }
            '|' | '>' if self.flow == 0 && self.is_header() => {
                self.block();
                return ControlFlow::Break(());
            }
            '&' | '!' | '*' => self.take_while(|it| !is_blank(it) && !is_break(it)),
            _ => {
                let is_value = !self.begins_node();
                self.plain();
                if self.flow == 0 && self.peek().is_some_and(is_break) {
                    self.plain = self.node.map(|column| column + usize::from(is_value));
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// A scalar begins. Whether it may be a key.
    fn begins_node(&mut self) -> bool {
        // Of a line, the key after the last dash is the innermost node with children.
        let is_after_key = self.out.trim_end_matches([' ', '\t']).ends_with(':');
        if !is_after_key {
            self.node = Some(self.column);
        }
        !is_after_key
    }

    fn plain(&mut self) {
        let in_brackets = self.flow > 0;
        let mut before = None;
        while let Some(next) = self.peek().filter(|it| !is_break(*it)) {
            let after = self.peek_second();
            let ends_key = after.is_none_or(|it| {
                is_blank(it) || is_break(it) || in_brackets && ",[]{}".contains(it)
            });
            let is_comment = next == '#' && before.is_some_and(is_blank);
            let ends = next == ':' && ends_key || in_brackets && ",[]{}".contains(next);
            if is_comment || ends {
                // The first character is taken in any case.
                if before.is_some() {
                    return;
                }
            }
            before = Some(next);
            self.take();
        }
    }

    /// A text in quotes.
    fn quoted(&mut self, quote: char) {
        let column = self.column;
        self.take();
        while let Some(next) = self.peek() {
            match next {
                '\\' if quote == '"' => {
                    self.take();
                    if self.peek().is_some_and(|it| !is_break(it)) {
                        self.take();
                    }
                }
                _ if next == quote => {
                    self.take();
                    if quote == '\'' && self.peek() == Some(quote) {
                        self.take();
                    } else {
                        return;
                    }
                }
                _ if self.has_other_break() => self.breaks(),
                '\n' => {
                    self.take();
                    let line = self.rest();
                    let is_mark = ["---", "..."].iter().any(|mark| line.starts_with(mark));
                    let blanks = line.chars().take_while(|it| is_blank(*it)).count();
                    let is_empty = line.trim_start_matches(is_blank).starts_with(is_break);
                    if !is_mark && (is_empty || blanks <= column) {
                        while let Some(blank) = self.peek().filter(|it| is_blank(*it)) {
                            self.skip(blank);
                        }
                        let indentation = if is_empty { 0 } else { column + 1 };
                        self.out.extend(std::iter::repeat_n(' ', indentation));
                    }
                }
                _ => self.take(),
            }
        }
    }

    /// The blanks and ends of lines that come next.
    fn gap(&self) -> &'a str {
        let rest = self.rest();
        let left = rest.trim_start_matches(|it| is_blank(it) || is_break(it));
        rest.get(..rest.len() - left.len()).unwrap_or_default()
    }

    fn has_other_break(&self) -> bool {
        self.gap().contains(is_other_break)
    }

    /// Ends of lines in quotes, of which some are none in YAML 1.2. As in libyaml's `yaml_parser_scan_flow_scalar`: a single
    /// `\n` is a space, the first one of several is nothing, and U+2028 and U+2029 stay.
    fn breaks(&mut self) {
        let gap = self.gap().replace("\r\n", "\n");
        let (at, column) = (self.at + self.gap().len(), self.column);
        let ends = gap.chars().filter(|it| is_break(*it));
        let ends = ends.map(|it| match it {
            '\r' | NEXT_LINE => '\n',
            other => other,
        });
        let ends: String = ends.collect();
        let folded = match ends.strip_prefix('\n') {
            Some("") => " ",
            Some(more) => more,
            None => &ends,
        };
        let mut before = None;
        for end in folded.chars() {
            // One more: the first of several newlines is nothing.
            if end == '\n' && before != Some('\n') {
                self.out.push('\n');
            } else if before == Some('\n') && end != '\n' {
                self.out.extend(std::iter::repeat_n(' ', column + 1));
            }
            self.out.push(end);
            before = Some(end);
        }
        if before == Some('\n') {
            self.out.extend(std::iter::repeat_n(' ', column + 1));
        }
        self.at = at;
    }

    /// Whether a block scalar begins here.
    fn is_header(&self) -> bool {
        let line = self.rest().split(is_break).next().unwrap_or_default();
        let words = line.get(1..).unwrap_or_default();
        let rest = words.trim_start_matches(|it: char| it.is_ascii_digit() || "+-".contains(it));
        words.len() - rest.len() <= 2
            && (rest.trim().is_empty()
                || rest.starts_with(is_blank) && rest.trim().starts_with('#'))
    }

    /// A block scalar, to its last line.
    fn block(&mut self) {
        let parent = self.node;
        self.take();
        self.take_while(|it| it.is_ascii_digit());
        let header = self.out.len();
        self.take_while(|it| "+-".contains(it));
        self.take_while(|it| !is_break(it));
        self.take();
        let mut least = parent.map(|column| column + 1);
        while let Some(line) = self.rest().split_inclusive('\n').next() {
            let content = line.trim_start_matches(' ');
            let indentation = line.len() - content.len();
            if !content.trim().is_empty() {
                let least = *least.get_or_insert(indentation.max(1));
                if indentation < least {
                    return;
                }
            }
            self.out.push_str(&line.replace(NEXT_LINE, "\n"));
            self.at += line.len();
            self.column = 0;
            if self.at == self.text.len() {
                self.open_block = Some(header);
            }
        }
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r') || is_other_break(character)
}

/// Whether it ends a line in YAML 1.1 and not in YAML 1.2.
fn is_other_break(character: char) -> bool {
    matches!(character, NEXT_LINE | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests;
