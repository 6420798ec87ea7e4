//! What is wrong with a request for a certificate. The request itself is not read: nobody signs it here.

use super::spot::{Causes, Spot};

/// A certificate lasts no shorter than this.
const LEAST_SECONDS: i64 = 600;

/// Judges the spec of a `CertificateSigningRequest`.
pub(super) fn validate(spec: &Spot<'_>, causes: &mut Causes) {
    let usages = spec.of("usages");
    if usages.is_empty() {
        usages.required("", causes);
    }
    spec.of("signerName").named(signer, causes);
    let seconds = spec.of("expirationSeconds");
    if seconds
        .number()
        .is_some_and(|number| number < LEAST_SECONDS)
    {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        seconds.invalid(why, causes);
    }
}

fn signer(name: &str) -> Vec<String> {
    if name.contains('/') {
        return Vec::new();
    }
    vec![
        "must be a fully qualified domain and path of the form 'example.com/signer-name'"
            .to_owned(),
    ]
}
