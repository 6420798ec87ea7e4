//! Label selectors of plugins, which the host reads before the API server does.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use windlass_apiserver::selector::LabelSelector as Served;
use windlass_kube::selector::LabelSelector;

/// What the host takes, the API server takes, and both select the same objects.
pub fn check(bytes: &[u8]) {
    let _ = drawn(&mut Unstructured::new(bytes));
}

fn drawn(bytes: &mut Unstructured<'_>) -> Result<()> {
    let labels: BTreeMap<String, String> = (0..bytes.int_in_range(0..=3)?)
        .map(|_| {
            Ok((
                bytes.choose(&["a", "b", "app"])?.to_string(),
                bytes.choose(&["", "1", "2", "a"])?.to_string(),
            ))
        })
        .collect::<Result<_>>()?;
    let Ok(text) = std::str::from_utf8(bytes.bytes(bytes.len())?) else {
        return Ok(());
    };
    if let Ok(selector) = LabelSelector::parse(text) {
        let served = Served::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error:?}"));
        assert_eq!(
            selector.selects(&labels),
            served.selects(Some(&labels)),
            "{text:?} of {labels:?}"
        );
    }
    Ok(())
}
