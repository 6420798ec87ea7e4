//! Fills the headers of a request with secrets, as its rule says.

use std::fmt;

use http::{HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

use crate::error::{Error, Failure};
use crate::rules::{Credentials, Inject, ObjectName, Permitted, SecretSource};
use crate::secrets::{Redactor, SecretData};

/// The headers that the host adds to one request.
#[derive(Clone, Default)]
pub struct Filled {
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) redactor: Redactor,
    /// Tells the connections of one credential from those of another.
    pub(crate) digest: [u8; 32],
}

/// The names of the headers. The values are not shown.
impl fmt::Debug for Filled {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.iter().map(|(name, _)| name);
        out.debug_list().entries(names).finish()
    }
}

impl Permitted<'_> {
    /// Fills the headers that the rule names. `secret_of` has the data of the Secrets of
    /// [`Rule::secrets`](crate::Rule::secrets); `chosen` is the data of the one that the guest chose, once
    /// [`consents`](crate::consents) has passed.
    ///
    /// # Errors
    /// The guest may not choose a Secret (`Denied`), a Secret is missing, or a value cannot be in a header.
    pub fn fill<'s>(
        &self,
        secret_of: impl Fn(&ObjectName) -> Option<&'s SecretData>,
        chosen: Option<&'s SecretData>,
    ) -> Result<Filled, Failure> {
        if chosen.is_some() && self.rule.credentials == Credentials::None {
            let reason = format!("the rule of {} has no credentials", self.rule.origin);
            return Err(Failure::denied(reason));
        }
        let mut filled = Filled::default();
        let mut hidden = Vec::new();
        let mut digest = Sha256::new();
        for inject in &self.rule.inject {
            let data = match &inject.secret {
                SecretSource::Chosen => match chosen {
                    Some(data) => data,
                    None => continue,
                },
                SecretSource::Named(name) => {
                    let missing = || failure(inject, "the Secret is not there");
                    secret_of(name).ok_or_else(missing)?
                }
            };
            let rendered = inject.value.render(data);
            let rendered = rendered.map_err(|problem| failure(inject, &problem.to_string()))?;
            for text in [inject.header.as_str().as_bytes(), &rendered.value] {
                digest.update(text.len().to_be_bytes());
                digest.update(text);
            }
            let value = HeaderValue::from_bytes(&rendered.value);
            let mut value =
                value.map_err(|_| failure(inject, "the value has a control character"))?;
            value.set_sensitive(true);
            // A Secret that the guest chose goes before the one that the document names.
            filled.headers.retain(|(name, _)| *name != inject.header);
            filled.headers.push((inject.header.clone(), value));
            hidden.extend(rendered.hidden);
        }
        let Some(redactor) = Redactor::new(&hidden) else {
            let text = "the secrets are too large".to_owned();
            return Err(Failure::unsent(Error::Other(text.clone()), text));
        };
        filled.redactor = redactor;
        if !filled.headers.is_empty() {
            filled.digest = digest.finalize().into();
        }
        Ok(filled)
    }
}

fn failure(inject: &Inject, problem: &str) -> Failure {
    let text = format!("the host cannot fill header {}", inject.header);
    let reason = format!("{text}: {problem}");
    Failure::unsent(Error::Other(text), reason)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::{RawRequest, Request};
    use crate::rules::Rules;

    fn data(value: &str) -> SecretData {
        SecretData::from([("token".to_owned(), value.as_bytes().to_vec())])
    }

    fn rules(credentials: bool) -> Rules {
        let secret = json!({"name": "api"});
        let mut inject = vec![json!({"header": "X-A", "value": "{token}", "secret": secret})];
        let mut rule = json!({"origin": "https://h.example"});
        if credentials {
            inject.push(json!({"header": "X-A", "value": "c {token}"}));
            rule["credentials"] = json!("same-namespace");
        }
        rule["inject"] = json!(inject);
        Rules::read(&json!({"allow": [rule]})).unwrap()
    }

    fn request() -> Request {
        Request::check(RawRequest {
            method: "GET".to_owned(),
            url: "https://h.example/".to_owned(),
            headers: vec![("x-a".to_owned(), "guest".to_owned())],
            body: Vec::new(),
        })
        .unwrap()
    }

    #[test]
    fn headers_are_filled_and_nothing_shows_the_values() {
        let rules = rules(true);
        let permitted = rules.permit(request()).unwrap();
        let (named, chosen) = (data("s3cret"), data("0th3r"));
        let filled = permitted.fill(|_| Some(&named), None).unwrap();
        assert_eq!(filled.headers[0].1, "s3cret");
        let both = permitted.fill(|_| Some(&named), Some(&chosen)).unwrap();
        assert_eq!(both.headers.len(), 1);
        assert_eq!(both.headers[0].1, "c 0th3r");
        assert_ne!(both.digest, filled.digest);
        assert_ne!(filled.digest, Filled::default().digest);
        for text in [
            format!("{both:?}"),
            format!("{:?}", both.headers),
            format!("{permitted:?}"),
        ] {
            assert!(
                !text.contains("0th3r") && !text.contains("s3cret"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_guest_chooses_a_secret_only_where_the_rule_says_so() {
        let rules = rules(false);
        let permitted = rules.permit(request()).unwrap();
        let named = data("s3cret");
        let failure = permitted.fill(|_| Some(&named), Some(&named)).unwrap_err();
        assert_eq!(failure.error, Error::Denied);
        let failure = permitted.fill(|_| None, None).unwrap_err();
        assert!(failure.reason.contains("not there"), "{failure}");
        let broken = data("s3cret\r\nx: y");
        let failure = permitted.fill(|_| Some(&broken), None).unwrap_err();
        assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
    }
}
