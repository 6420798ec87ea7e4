//! A set of completion indexes, in the form that a status has: `1,3-5,7`.
//!
//! Source: `completedIndexes` in the documentation of the Job API.

use std::fmt;

/// A set of indexes: intervals with both ends, in order, and neither overlapping nor adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Indexes(Vec<(usize, usize)>);

impl Indexes {
    /// Reads the indexes below `completions` from a text. What is not an index or an interval is left out.
    pub(crate) fn parse(text: &str, completions: usize) -> Self {
        let Some(last) = completions.checked_sub(1) else {
            return Self::default();
        };
        let interval = |part: &str| {
            let (first, end) = part.split_once('-').unwrap_or((part, part));
            let (first, end): (usize, usize) = (first.parse().ok()?, end.parse().ok()?);
            let end = end.min(last);
            (first <= end).then_some((first, end))
        };
        Self::of(text.split(',').filter_map(interval).collect())
    }

    fn of(mut intervals: Vec<(usize, usize)>) -> Self {
        intervals.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(intervals.len());
        for (first, last) in intervals {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    /// These indexes, and others.
    pub(crate) fn with(&self, more: impl IntoIterator<Item = usize>) -> Self {
        let mut intervals = self.0.clone();
        intervals.extend(more.into_iter().map(|index| (index, index)));
        Self::of(intervals)
    }

    /// These indexes, and those of another set.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self::of(self.0.iter().chain(&other.0).copied().collect())
    }

    /// Whether an index is in the set.
    pub(crate) fn contains(&self, index: usize) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= index);
        let before = after.checked_sub(1).and_then(|at| self.0.get(at));
        before.is_some_and(|(_, last)| index <= *last)
    }

    /// How many indexes are in the set.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// How many indexes are in both sets.
    pub(crate) fn shared_with(&self, other: &Self) -> usize {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut shared = 0;
        while let (Some(&&(first, last)), Some(&&(from, to))) = (ours.peek(), theirs.peek()) {
            let (begin, end) = (first.max(from), last.min(to));
            if begin <= end {
                shared += end - begin + 1;
            }
            if last < to {
                ours.next();
            } else {
                theirs.next();
            }
        }
        shared
    }

    /// The indexes below `completions` that are not in the set, in order.
    pub(crate) fn free(&self, completions: usize) -> impl Iterator<Item = usize> {
        let starts = std::iter::once(0).chain(self.0.iter().map(|(_, last)| last + 1));
        let ends = self.0.iter().map(|(first, _)| *first);
        let ends = ends.chain(std::iter::once(usize::MAX));
        starts
            .zip(ends)
            .flat_map(move |(start, end)| start..end.min(completions))
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.0.iter().enumerate() {
            let before = if at == 0 { "" } else { "," };
            match last - first {
                0 => write!(f, "{before}{first}")?,
                1 => write!(f, "{before}{first},{last}")?,
                _ => write!(f, "{before}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_and_written_in_the_shortest_form() {
        for (text, completions, written, len) in [
            ("", 5, "", 0),
            ("0", 0, "", 0),
            ("0", 1, "0", 1),
            ("0,1", 5, "0,1", 2),
            ("0-1", 5, "0,1", 2),
            ("0-2", 5, "0-2", 3),
            ("1,3-5,7", 9, "1,3-5,7", 5),
            ("1,3-5,7", 5, "1,3,4", 3),
            ("7,1,2,0", 9, "0-2,7", 4),
            ("2-1,x,-,3-", 9, "", 0),
        ] {
            let read = Indexes::parse(text, completions);
            assert_eq!(read.to_string(), written, "{text:?}");
            assert_eq!(read.len(), len, "{text:?}");
        }
    }

    #[test]
    fn sets_are_joined_and_compared() {
        let some = Indexes::parse("1,3-5", 10);
        assert_eq!(some.with([2, 9, 2]).to_string(), "1-5,9");
        assert_eq!(some.and(&Indexes::parse("0,6", 10)).to_string(), "0,1,3-6");
        let held: Vec<_> = (0..8).filter(|index| some.contains(*index)).collect();
        assert_eq!(held, [1, 3, 4, 5]);
        for (other, shared) in [("", 0), ("0-9", 4), ("4,5", 2), ("0,2,6", 0), ("1,5,7", 2)] {
            assert_eq!(
                some.shared_with(&Indexes::parse(other, 10)),
                shared,
                "{other}"
            );
        }
    }

    #[test]
    fn free_indexes_are_between_the_intervals() {
        for (taken, completions, free) in [
            ("", 3, vec![0, 1, 2]),
            ("0-2", 3, vec![]),
            ("1,3-5", 7, vec![0, 2, 6]),
            ("0", 0, vec![]),
        ] {
            let taken = Indexes::parse(taken, 100);
            assert_eq!(taken.free(completions).collect::<Vec<_>>(), free, "{taken}");
        }
    }
}
