//! Some paths of an object, read from its text in one go, without a tree of it.
//!
//! - Values are copied as they are written. What nobody asks for is passed over.
//! - The text is JSON: the store holds nothing else. Where it is not, the rest of it is absent.
//! - A path with `[*]` leads to a list with a value for each item, `null` for those in which it leads nowhere.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::Fields;
use super::fields::PathStep;
use super::scanner::{Scanner, unquoted};

/// What stands for a value that is absent.
const ABSENT: &str = "null";

/// Paths, as a tree of their steps.
#[derive(Debug, Default)]
pub struct Selection {
    root: Node,
    count: usize,
}

/// Where some paths have come to.
#[derive(Debug, Default)]
struct Node {
    /// The paths that end here.
    ends: Vec<usize>,
    /// The paths that end here or below.
    within: Vec<usize>,
    fields: Vec<(String, Node)>,
    each: Option<Box<Node>>,
}

/// The values are longer than there is room.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRoom;

/// What a path leads to.
type Slot<'a> = Option<Cow<'a, str>>;

impl Selection {
    /// Of the paths of `fields`, in their order.
    pub fn of(fields: &Fields) -> Self {
        let mut root = Node::default();
        let paths = fields.paths();
        for (index, path) in paths.iter().enumerate() {
            root.add(path, index);
        }
        Self {
            root,
            count: paths.len(),
        }
    }

    /// The row of an object: a list with a value for each path, of at most `room` bytes.
    ///
    /// # Errors
    /// It would be longer.
    pub fn row(&self, text: &str, room: usize) -> Result<String, NoRoom> {
        let mut reader = Reader {
            scanner: Scanner::of(text),
            slots: vec![None; self.count],
            room,
        };
        reader.object(&self.root, true)?;
        let mut row = String::from("[");
        for slot in &reader.slots {
            let value = slot.as_deref().unwrap_or(ABSENT);
            let comma = if row.len() > 1 { "," } else { "" };
            if row.len() + comma.len() + value.len() + 1 > room {
                return Err(NoRoom);
            }
            row.push_str(comma);
            row.push_str(value);
        }
        row.push(']');
        Ok(row)
    }
}

impl Node {
    fn add(&mut self, path: &[PathStep], index: usize) {
        self.within.push(index);
        match path {
            [] => self.ends.push(index),
            [PathStep::Each, rest @ ..] => self.each.get_or_insert_default().add(rest, index),
            [PathStep::Field(name), rest @ ..] => {
                let held = self.fields.iter().position(|(held, _)| held == name);
                let at = held.unwrap_or_else(|| {
                    self.fields.push((name.clone(), Self::default()));
                    self.fields.len() - 1
                });
                if let Some((_, node)) = self.fields.get_mut(at) {
                    node.add(rest, index);
                }
            }
        }
    }

    fn field(&self, name: &str) -> Option<&Self> {
        let held = self.fields.iter().find(|(held, _)| held == name);
        held.map(|(_, node)| node)
    }
}

/// Reads a text from its beginning to its end.
struct Reader<'a> {
    scanner: Scanner<'a>,
    slots: Vec<Slot<'a>>,
    /// How many bytes may still be written.
    room: usize,
}

impl<'a> Reader<'a> {
    /// Reads a value, and takes from it what `node` asks for.
    fn value(&mut self, node: &Node) -> Result<(), NoRoom> {
        let next = self.scanner.peek();
        let from = self.scanner.clone();
        match next {
            Some(b'{') if !node.fields.is_empty() => self.object(node, false)?,
            Some(b'[') if node.each.is_some() => self.list(node)?,
            _ => drop(self.scanner.value()),
        }
        if let Some(text) = self.scanner.since(&from) {
            for index in &node.ends {
                self.set(*index, Some(Cow::Borrowed(text)));
            }
        }
        Ok(())
    }

    /// Reads an object, or the `first` part of it, in which everything is that is asked for.
    fn object(&mut self, node: &Node, first: bool) -> Result<(), NoRoom> {
        let mut left = node.fields.len();
        let mut is_open = self.scanner.take(b'{');
        while is_open {
            let Some(quoted) = self.scanner.name() else {
                break;
            };
            match node.field(&unquoted(quoted)) {
                Some(inner) => {
                    self.value(inner)?;
                    left = left.saturating_sub(1);
                }
                None => drop(self.scanner.value()),
            }
            if first && left == 0 {
                return Ok(());
            }
            is_open = self.scanner.take(b',');
        }
        self.scanner.take(b'}');
        Ok(())
    }

    /// Reads a list, of which each item is asked for the same.
    fn list(&mut self, node: &Node) -> Result<(), NoRoom> {
        let Some(each) = &node.each else {
            return Ok(());
        };
        self.scanner.take(b'[');
        let mut lists = vec![String::from("["); each.within.len()];
        while self.scanner.peek().is_some_and(|byte| byte != b']') {
            for index in &each.within {
                self.set(*index, None);
            }
            self.value(each)?;
            for (list, index) in lists.iter_mut().zip(&each.within) {
                let slot = self.slots.get(*index).and_then(Option::as_deref);
                let value = slot.unwrap_or(ABSENT);
                let room = self.room.checked_sub(value.len() + 1);
                self.room = room.ok_or(NoRoom)?;
                if list.len() > 1 {
                    list.push(',');
                }
                list.push_str(value);
            }
            if !self.scanner.take(b',') {
                break;
            }
        }
        self.scanner.take(b']');
        for (mut list, index) in lists.into_iter().zip(&each.within) {
            list.push(']');
            self.set(*index, Some(Cow::Owned(list)));
        }
        Ok(())
    }

    fn set(&mut self, index: usize, value: Slot<'a>) {
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = value;
        }
    }
}
