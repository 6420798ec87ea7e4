//! What follows the question mark, with the types that Kubernetes gives it.

use crate::status::Refusal;

/// Names and values, in the order sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query.
    pub fn parse(text: &str) -> Self {
        let readable = |pair: &&str| !pair.contains(';') && is_escaped_well(pair);
        let pairs = text
            .split('&')
            .filter(readable)
            .flat_map(|pair| form_urlencoded::parse(pair.as_bytes()).into_owned());
        Self(pairs.collect())
    }

    /// Puts a value in the place of all that a name has.
    pub fn put(&mut self, name: &str, value: &str) {
        self.0.retain(|(held, _)| held != name);
        self.0.push((name.to_owned(), value.to_owned()));
    }

    /// The first value of a name.
    pub fn text(&self, name: &str) -> Option<&str> {
        let first = self.0.iter().find(|(held, _)| held == name)?;
        Some(&first.1)
    }

    /// All values of a name.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let all = self.0.iter().filter(|(held, _)| held == name);
        all.map(|(_, value)| value.clone()).collect()
    }

    /// Everything but `0` and `false` is true, even an empty value
    /// (apimachinery `Convert_Slice_string_To_bool`).
    pub fn truth(&self, name: &str) -> Option<bool> {
        let value = self.text(name)?;
        Some(value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A number.
    ///
    /// # Errors
    /// 400 with the words of Go's `strconv.ParseInt`.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let Some(value) = self.text(name) else {
            return Ok(None);
        };
        let why = match value.parse() {
            Ok(number) => return Ok(Some(number)),
            Err(error) => match std::num::ParseIntError::kind(&error) {
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                    "value out of range"
                }
                _ => "invalid syntax",
            },
        };
        let message = format!("strconv.ParseInt: parsing {value:?}: {why}");
        Err(Refusal::bad_request(message))
    }
}

/// Whether each percent sign begins two hexadecimal digits; Go drops pairs that are not so.
fn is_escaped_well(pair: &str) -> bool {
    let mut rest = pair;
    while let Some((_, after)) = rest.split_once('%') {
        let digits = after.as_bytes().get(..2);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return false;
        }
        rest = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_kubernetes_types() {
        let query = Query::parse("watch&limit=5&a=0&b=False&c=1&bad=x&labelSelector=a%3Db");
        assert_eq!(query.truth("watch"), Some(true));
        assert_eq!(query.truth("a"), Some(false));
        assert_eq!(query.truth("b"), Some(false));
        assert_eq!(query.truth("c"), Some(true));
        assert_eq!(query.truth("none"), None);
        assert_eq!(query.number("limit"), Ok(Some(5)));
        assert_eq!(
            query.number("bad").unwrap_err().message,
            "strconv.ParseInt: parsing \"x\": invalid syntax"
        );
        assert_eq!(query.text("labelSelector"), Some("a=b"));
    }
}
