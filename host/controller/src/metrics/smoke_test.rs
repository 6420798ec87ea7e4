//! What the smoke test of the newest version has shown.

use std::fmt;

use serde::Serialize;

use windlass_base::text::counted;

/// What the smoke test of a version has shown that was not refused after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SmokeTestReport {
    /// All of the digest of its component.
    pub digest: String,
    /// About so many objects it was called.
    pub objects: u64,
    /// About so many of them it would do something else than the version before it.
    pub differing: u64,
    /// Those for which there was not enough time.
    pub left_out: u64,
    /// The first differences, each about one object.
    pub differences: Vec<String>,
}

impl SmokeTestReport {
    /// The reason of the Event about it.
    pub fn reason(&self) -> &'static str {
        if self.differing == 0 {
            "SmokeTestPassed"
        } else {
            "SmokeTestDiffers"
        }
    }
}

/// As a log line and an Event say it.
impl fmt::Display for SmokeTestReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            digest,
            objects,
            differing,
            left_out,
            differences,
        } = self;
        write!(
            out,
            "component {digest} answered about {}, {differing} of them otherwise than the version before it",
            counted(*objects, "object")
        )?;
        if *left_out > 0 {
            write!(out, "; there was not enough time for {left_out} more")?;
        }
        for difference in differences {
            write!(out, "; {difference}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_told_in_one_line() {
        let mut report = SmokeTestReport {
            digest: "sha256:a".into(),
            objects: 3,
            ..SmokeTestReport::default()
        };
        let want = "component sha256:a answered about 3 objects, 0 of them otherwise than the version before it";
        assert_eq!(
            (report.to_string().as_str(), report.reason()),
            (want, "SmokeTestPassed")
        );
        report.differing = 1;
        report.left_out = 2;
        report.differences = vec!["X n/a: C n/c: data.x 1 -> 2".into()];
        let want = "component sha256:a answered about 3 objects, 1 of them otherwise than the version before it; there was not enough time for 2 more; X n/a: C n/c: data.x 1 -> 2";
        assert_eq!(
            (report.to_string().as_str(), report.reason()),
            (want, "SmokeTestDiffers")
        );
    }
}
