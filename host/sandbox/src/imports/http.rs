//! The import `http`, as the contract names it.

use super::super::bindings::http;
use super::super::import::Fetch;
use super::super::sandbox::SandboxState;

impl http::Host for SandboxState {
    async fn fetch(
        &mut self,
        request: http::Request,
    ) -> wasmtime::Result<Result<http::Response, http::Error>> {
        self.answer(Fetch::from(request)).await
    }
}
