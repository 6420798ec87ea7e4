//! Decides what `windlass dev --once` ends with.

use std::time::Duration;

use anyhow::bail;

use super::settled::Rest;
use windlass_base::text::counted;

/// What `--once` ends with.
pub(super) fn verdict(
    rest: Option<Rest>,
    refused: bool,
    timeout: Duration,
    busy: &[String],
) -> anyhow::Result<()> {
    let Some(rest) = rest else {
        bail!(
            "not settled after {} s: raise --timeout, or run without --once to see what happens{}",
            timeout.as_secs(),
            busy.iter()
                .map(|line| format!("\n{line}"))
                .collect::<String>()
        );
    };
    if !rest.failed.is_empty() {
        let (number, objects) = (rest.failed.len(), rest.objects);
        bail!(
            "{number} of {} failed\n{}",
            counted(objects, "object"),
            rest.failed.join("\n")
        );
    }
    if !rest.endless.is_empty() {
        let (number, objects) = (rest.endless.len(), rest.objects);
        bail!(
            "not settled: an endless loop reconciles {number} of {}; let each pass write the same value, or look for another writer of the field\n{}",
            counted(objects, "object"),
            rest.endless.join("\n")
        );
    }
    if refused {
        bail!("the API server refused some of the project's objects, see above");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_fails_if_anything_did() {
        let second = Duration::from_secs(1);
        let fine = || Rest {
            objects: 2,
            ..Rest::default()
        };
        assert!(verdict(Some(fine()), false, second, &[]).is_ok());
        let failed = Rest {
            failed: vec!["Greeting a: no".into()],
            ..fine()
        };
        let endless = Rest {
            endless: vec!["Greeting a: each pass rewrites ConfigMap b .data.text".into()],
            ..fine()
        };
        for (rest, refused, said) in [
            (None, false, "after 1 s"),
            (None, false, "see what happens\nGreeting a: 9 passes"),
            (
                Some(endless),
                false,
                "not settled: an endless loop reconciles 1 of 2 objects",
            ),
            (Some(failed), false, "1 of 2 objects failed\nGreeting a: no"),
            (Some(fine()), true, "refused some"),
        ] {
            let busy = ["Greeting a: 9 passes".to_owned()];
            let error = verdict(rest, refused, second, &busy)
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
