//! The path of a field, as Kubernetes writes it: `spec.ports[0].name`, `metadata.labels[app]`.
//!
//! A path is built on the stack while a walk goes down, and becomes text only when something is wrong.

use std::fmt;

/// One place in an object, seen from its root.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Step<'a> {
    #[default]
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The object itself.
    pub const ROOT: Path<'static> = Path {
        parent: None,
        step: Step::Root,
    };

    /// A field of the root.
    pub fn new(field: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Field(field),
        }
    }

    /// A field of this place; several with dots in between.
    pub fn child(&'a self, field: &'a str) -> Self {
        self.at(Step::Field(field))
    }

    /// An entry of a map.
    pub fn key(&'a self, key: &'a str) -> Self {
        self.at(Step::Key(key))
    }

    /// An item of a list.
    pub fn index(&'a self, index: usize) -> Self {
        self.at(Step::Index(index))
    }

    /// Whether this is the object itself.
    pub fn is_root(&self) -> bool {
        matches!(self.step, Step::Root) && self.parent.is_none_or(Path::is_root)
    }

    fn at(&'a self, step: Step<'a>) -> Self {
        Self {
            parent: Some(self),
            step,
        }
    }

    /// The path as values of OpenAPI are reported: nothing for the root, and map keys after dots.
    pub fn dotted(&self) -> String {
        let mut text = String::new();
        self.write_dotted(&mut text);
        text
    }

    fn write_dotted(&self, text: &mut String) {
        if let Some(parent) = self.parent {
            parent.write_dotted(text);
        }
        match self.step {
            Step::Root => {}
            Step::Field(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Key(name) => {
                text.push('.');
                text.push_str(name);
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }

    fn write(&self, text: &mut fmt::Formatter<'_>) -> Result<bool, fmt::Error> {
        let begun = match self.parent {
            Some(parent) => parent.write(text)?,
            None => false,
        };
        match self.step {
            Step::Root => return Ok(begun),
            Step::Field(name) if begun => write!(text, ".{name}")?,
            Step::Field(name) => text.write_str(name)?,
            Step::Key(name) => write!(text, "[{name}]")?,
            Step::Index(index) => write!(text, "[{index}]")?,
        }
        Ok(true)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return text.write_str("<nil>");
        }
        self.write(text).map(|_| ())
    }
}

impl From<Path<'_>> for String {
    fn from(path: Path<'_>) -> Self {
        path.to_string()
    }
}

impl From<&Path<'_>> for String {
    fn from(path: &Path<'_>) -> Self {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_the_real_servers() {
        let root = Path::ROOT;
        let spec = root.child("spec");
        let ports = spec.child("ports");
        let port = ports.index(2);
        let name = port.child("name");
        let labels = spec.child("labels");
        let label = labels.key("a.b/c");
        for (path, text, dotted) in [
            (root, "<nil>", ""),
            (spec, "spec", "spec"),
            (name, "spec.ports[2].name", "spec.ports[2].name"),
            (label, "spec.labels[a.b/c]", "spec.labels.a.b/c"),
            (root.key("x"), "[x]", ".x"),
            (Path::new("status").child("a"), "status.a", "status.a"),
        ] {
            assert_eq!(path.to_string(), text);
            assert_eq!(path.dotted(), dotted);
        }
    }
}
