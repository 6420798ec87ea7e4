//! Reads what a suite prints: how many tests passed and failed, and how long each test took.
//!
//! libtest prints a line when a test ends, and not when it starts. It starts tests in the order of its list, and the next
//! one when one ends. So the time of each start follows from the lines.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// The results of a suite, read line by line from its output.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Tests that passed.
    pub(super) passed: usize,
    /// Tests that failed.
    pub(super) failed: usize,
    /// The names of the tests of libtest that failed.
    pub(super) failures: Vec<String>,
    /// Each test with the time that it took.
    pub(super) times: Vec<(String, Duration)>,
    /// Tests that have not started, in the order in which they start.
    waiting: VecDeque<String>,
    /// The time at which each running test started, since the suite began.
    running: HashMap<String, Duration>,
    /// How many tests run at a time.
    threads: usize,
}

impl Results {
    /// For a suite that runs `tests` in this order, `threads` at a time. It has no tests here if it is not of libtest.
    pub(super) fn new(tests: Vec<String>, threads: usize) -> Self {
        let mut results = Self {
            waiting: tests.into(),
            threads,
            ..Self::default()
        };
        results.start(Duration::ZERO);
        results
    }

    /// Reads a line that was printed `at` this time since the suite began.
    pub(super) fn line(&mut self, line: &str, at: Duration) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += number_before(counts, "passed;");
            self.failed += number_before(counts, "failed;");
        } else if let Some((name, end)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... "))
        {
            self.ended(name, at);
            if end == "FAILED" {
                // `name - should panic` is the test `name`.
                let name = name.split(" - ").next().unwrap_or(name);
                self.failures.push(name.to_owned());
            }
        } else if let Some(counts) = line.strip_prefix("ℹ ") {
            // node --test: `ℹ pass 19`
            match counts
                .split_once(' ')
                .map(|(word, n)| (word, n.parse::<usize>()))
            {
                Some(("pass", Ok(count))) => self.passed += count,
                Some(("fail" | "cancelled", Ok(count))) => self.failed += count,
                _ => {}
            }
        } else if let Some((name, time)) = line.strip_prefix("✔ ").and_then(node_test) {
            // Tests in a group are indented; the group itself counts.
            self.times.push((name.to_owned(), time));
        }
    }

    fn ended(&mut self, name: &str, at: Duration) {
        // `name - should panic` is the test `name`.
        let name = name.split(" - ").next().unwrap_or(name);
        if let Some(began) = self.running.remove(name) {
            self.times.push((name.to_owned(), at.saturating_sub(began)));
        }
        self.start(at);
    }

    fn start(&mut self, at: Duration) {
        while self.running.len() < self.threads {
            let Some(next) = self.waiting.pop_front() else {
                return;
            };
            self.running.insert(next, at);
        }
    }
}

/// The number before this word in `3 passed; 0 failed; …`.
fn number_before(counts: &str, word: &str) -> usize {
    let words: Vec<&str> = counts.split_whitespace().collect();
    let mut pairs = words.windows(2);
    let found = pairs.find_map(|pair| match pair {
        [count, found] if *found == word => count.parse().ok(),
        _ => None,
    });
    found.unwrap_or(0)
}

/// The name and the time in `name (12.5ms)`.
fn node_test(line: &str) -> Option<(&str, Duration)> {
    let (name, rest) = line.rsplit_once(" (")?;
    let milliseconds: f64 = rest.strip_suffix("ms)")?.parse().ok()?;
    let time = Duration::try_from_secs_f64(milliseconds / 1000.0).ok()?;
    Some((name, time))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Results;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_test_that_waits_for_a_thread_starts_when_another_one_ends() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let mut results = Results::new(names.to_vec(), 2);
        results.line("running 3 tests", seconds(0));
        results.line("test b ... ok", seconds(3));
        results.line("test a - should panic ... ok", seconds(5));
        results.line("test c ... FAILED", seconds(7));
        let line = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out";
        results.line(line, seconds(7));
        let times = [("b", 3), ("a", 5), ("c", 4)].map(|(name, it)| (name.to_owned(), seconds(it)));
        assert_eq!(results.times, times);
        assert_eq!((results.passed, results.failed), (2, 1));
        assert_eq!(results.failures, ["c"]);
    }

    #[test]
    fn the_report_of_node_is_read() {
        let mut results = Results::new(Vec::new(), 4);
        for line in [
            "✔ a page (1500ms)",
            "  ✔ inner (3.5ms)",
            "ℹ pass 19",
            "ℹ fail 1",
            "ℹ cancelled 2",
        ] {
            results.line(line, seconds(9));
        }
        assert_eq!((results.passed, results.failed), (19, 3));
        let page = ("a page".to_owned(), Duration::from_millis(1500));
        assert_eq!(results.times, [page]);
    }
}
