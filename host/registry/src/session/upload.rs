//! Uploads blobs and manifests.

use bytes::Bytes;
use http::header::LOCATION;
use http::{Method, StatusCode};

use super::{Call, DIGEST_HEADER, Session};
use crate::digest::Digest;
use crate::manifest::MANIFEST_TYPE;
use crate::problem::Problem;
use crate::settings::is_same_origin;

impl Session<'_> {
    /// Uploads a blob, if the registry does not have it.
    pub(crate) async fn upload(&mut self, what: &str, bytes: Bytes) -> Result<(), Problem> {
        let digest = Digest::of(&bytes).to_string();
        let head = Call::new(Method::HEAD, self.url("blobs", &digest));
        let answer = self.send(&head).await?;
        // A registry may redirect to a blob that it has.
        if answer.status == StatusCode::OK || answer.status.is_redirection() {
            return Ok(());
        }
        if answer.status != StatusCode::NOT_FOUND {
            return Err(answer.problem(&format!("the {what}")));
        }
        let begin = Call::new(Method::POST, self.url("blobs", "uploads/"));
        let answer = self.send(&begin).await?;
        if answer.status != StatusCode::ACCEPTED {
            return Err(answer.problem("an upload"));
        }
        let location = answer.header(LOCATION.as_str());
        let url = location.and_then(|location| begin.url.join(location).ok());
        let Some(mut url) = url.filter(|url| is_same_origin(url, &self.base)) else {
            return Err(Problem::Refused(format!(
                "{} wants the {what} at another host, scheme or port than its own",
                answer.host
            )));
        };
        url.query_pairs_mut().append_pair("digest", &digest);
        let put = Call::new(Method::PUT, url).body("application/octet-stream", bytes);
        let answer = self.send(&put).await?;
        if answer.status != StatusCode::CREATED {
            return Err(answer.problem(&format!("the upload of the {what}")));
        }
        Ok(())
    }

    /// Uploads a manifest under a tag or its digest.
    pub(crate) async fn publish(&mut self, name: &str, bytes: Bytes) -> Result<(), Problem> {
        let digest = Digest::of(&bytes);
        let put = Call::new(Method::PUT, self.url("manifests", name)).body(MANIFEST_TYPE, bytes);
        let answer = self.send(&put).await?;
        if answer.status != StatusCode::CREATED {
            return Err(answer.problem("the upload of the manifest"));
        }
        match answer.header(DIGEST_HEADER) {
            Some(other) if other != digest.to_string() => Err(Problem::Refused(format!(
                "{} keeps the manifest as `{other}` instead of {digest}",
                answer.host
            ))),
            _ => Ok(()),
        }
    }
}
