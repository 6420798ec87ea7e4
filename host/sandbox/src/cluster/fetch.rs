//! `fetch`: an HTTP request of the guest, checked against the document, filled with Secrets, and sent once.

mod sources;

use std::sync::Arc;
use std::time::Duration;

use windlass_egress::{Answer, CallBudget, Failure, RawRequest};

use super::Call;
use crate::bindings::http::{Error, Header, Request, Response};
use crate::http::{Exchange, HttpAccess, code};

/// No exchange takes longer: no call does.
const LONGEST: Duration = Duration::from_secs(3600);

impl Call {
    pub(crate) async fn fetch(&mut self, request: Request) -> Result<Response, Error> {
        let what = format!("{} {}", request.method, origin_of(&request.url));
        let sent = self.fetch_answer(request).await;
        sent.map(response).map_err(|failure| {
            let reason = self.redactor.line(&failure.reason, 1 << 10);
            let line = format!("send {what}: {reason}");
            if failure.error == windlass_egress::Error::Denied {
                self.deny(&line);
            } else if self.cluster.view.failed(&self.primary.key, &line) {
                self.cluster.view.reported(&self.primary.key, &line);
                self.remark(&format!("cannot {line}"));
            }
            error(failure.error)
        })
    }

    async fn fetch_answer(&mut self, request: Request) -> Result<Answer, Failure> {
        let Some(access) = self.cluster.http.clone() else {
            return Err(Failure::refused("this host sends no HTTP requests"));
        };
        let Request {
            method,
            url,
            headers,
            body,
            timeout_ms,
            credential,
        } = request;
        let headers = headers.into_iter().map(|it| (it.name, it.value));
        let raw = RawRequest {
            method,
            url,
            headers: headers.collect(),
            body,
        };
        let checked = windlass_egress::Request::check(raw)?;
        let permitted = access.rules.permit(checked.clone())?;
        self.http_budget.take()?;
        if !checked.is_read() {
            if !self.cluster.writes.is_sent() {
                self.undecided = true;
                let (origin, path) = (checked.location().origin(), checked.location().path());
                let line = format!("{} {origin}{path}: not sent", checked.method());
                let line = self.redactor.line(&line, 1 << 10);
                self.cluster.view.sent(&self.primary.key, line);
                return Err(Failure::refused("it is not sent in a dry run"));
            }
            if !self.cluster.api.may_write() {
                return Err(Failure::refused(
                    "another host has the plugin's Lease by now",
                ));
            }
        }
        let rule = permitted.rule();
        let (tls, named, chosen) = self.sources(rule, credential.as_deref()).await?;
        let (method, location) = (checked.method().to_owned(), checked.location());
        let line = format!("{method} {}{}", location.origin(), location.path());
        let most = timeout_ms.map_or(LONGEST, |millis| Duration::from_millis(millis.into()));
        let exchange = Exchange {
            request: checked,
            named,
            chosen,
            tls,
            most: most.min(LONGEST),
            memory: self.cluster.account.passing(),
        };
        let waits = self.waits();
        let (answer, memory) = access.exchange(exchange).await;
        drop(waits);
        if let Some(memory) = memory {
            self.answer = memory;
        }
        let line = self
            .redactor
            .line(&format!("{line}: {}", code(&answer)), 1 << 10);
        self.cluster.view.sent(&self.primary.key, line);
        answer
    }

    /// Whether the call has asked for what a dry run cannot do.
    pub(crate) fn is_undecided(&self) -> bool {
        self.undecided
    }
}

/// What a call has left to send.
pub(super) fn budget() -> CallBudget {
    CallBudget::default()
}

/// How a plugin sends, if it may.
pub(super) type Access = Option<Arc<HttpAccess>>;

/// The origin in a text that may be none, for people.
fn origin_of(url: &str) -> String {
    let end = url.split_once("://").map_or(url.len(), |(scheme, rest)| {
        scheme.len() + 3 + rest.find(['/', '?', '#']).unwrap_or(rest.len())
    });
    let origin = url.get(..end).unwrap_or_default();
    // User information may be secret.
    let origin = origin.rsplit_once('@').map_or(origin, |(_, host)| host);
    windlass_base::text::clean(origin, 200)
}

fn response(answer: Answer) -> Response {
    let headers = answer.headers.into_iter();
    Response {
        status: answer.status,
        headers: headers
            .map(|(name, value)| Header { name, value })
            .collect(),
        body: answer.body,
    }
}

fn error(error: windlass_egress::Error) -> Error {
    match error {
        windlass_egress::Error::Denied => Error::Denied,
        windlass_egress::Error::Timeout => Error::Timeout,
        windlass_egress::Error::Unavailable => Error::Unavailable,
        windlass_egress::Error::TooLarge => Error::TooLarge,
        windlass_egress::Error::Invalid(text) => Error::Invalid(text),
        windlass_egress::Error::Other(text) => Error::Other(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_url_people_are_shown_the_origin_without_its_user() {
        let rows = [
            ("https://a.example/b?c=d", "https://a.example"),
            ("https://u:secret@a.example/", "a.example"),
            ("https://a.example", "https://a.example"),
            ("nothing", "nothing"),
        ];
        for (url, want) in rows {
            assert_eq!(origin_of(url), want);
        }
    }
}
