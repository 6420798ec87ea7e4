//! Who answers the HTTP requests of a reconciler in a test.

use std::fmt;
use std::sync::Arc;

use super::store::FakeCluster;
use crate::fetch::{FetchCode, FetchError, FetchRequest, FetchResponse};

type Answers = dyn Fn(&FetchRequest) -> Result<FetchResponse, FetchCode> + Send + Sync;

/// Answers requests. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Server(Option<Arc<Answers>>);

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.0.is_some()).finish()
    }
}

impl Server {
    pub(super) fn answer(&self, request: &FetchRequest) -> Result<FetchResponse, FetchError> {
        let code = match &self.0 {
            Some(answers) => match answers(request) {
                Ok(response) => return Ok(response),
                Err(code) => code,
            },
            None => FetchCode::Other(
                "nobody answers requests of this FakeCluster: see answer_requests".into(),
            ),
        };
        let call = format!("{} {}", request.method(), request.uri());
        Err(FetchError { code, call })
    }
}

impl FakeCluster {
    /// From now on `answer` plays the servers outside the cluster. Without it, each request fails.
    pub fn answer_requests(
        &mut self,
        answer: impl Fn(&FetchRequest) -> Result<FetchResponse, FetchCode> + Send + Sync + 'static,
    ) {
        self.server = Server(Some(Arc::new(answer)));
    }
}
