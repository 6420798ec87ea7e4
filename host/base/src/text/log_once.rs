//! What is logged once, until it changes.

/// Remembers what was logged last.
#[derive(Clone, Debug)]
pub struct LogOnce<T>(Option<T>);

impl<T> Default for LogOnce<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: PartialEq> LogOnce<T> {
    /// Whether `news` is to be logged: it is not what was logged last.
    #[must_use]
    pub fn is_new(&mut self, news: T) -> bool {
        let news = Some(news);
        let is_new = self.0 != news;
        self.0 = news;
        is_new
    }

    /// `news` is logged by somebody else.
    pub fn set(&mut self, news: T) {
        self.0 = Some(news);
    }

    /// All is well: whatever comes is new.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_logged_once_until_it_changes_or_all_was_well() {
        let mut once = LogOnce::default();
        let rows = [("a", true), ("a", false), ("b", true), ("a", true)];
        for (news, want) in rows {
            assert_eq!(once.is_new(news), want, "{news}");
        }
        once.clear();
        assert!(once.is_new("a"));
        once.set("b");
        assert!(!once.is_new("b"));
    }
}
