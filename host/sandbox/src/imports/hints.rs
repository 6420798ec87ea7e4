//! The imports that answer from the host's own memory, as the contract names them.

use super::super::bindings::{memory, rates};
use super::super::import::{Recall, Take};
use super::super::sandbox::SandboxState;

impl memory::Host for SandboxState {
    async fn recall(&mut self) -> wasmtime::Result<Option<Vec<u8>>> {
        self.answer(Recall {}).await
    }

    async fn keep(&mut self, what: Vec<u8>) -> wasmtime::Result<()> {
        // A call that is made again recalls what was recorded.
        if self.player.is_some() {
            return Ok(self.cancel.check()?);
        }
        self.call()?.keep_hint(what);
        Ok(())
    }
}

impl rates::Host for SandboxState {
    async fn take(
        &mut self,
        bucket: String,
        per_hour: u32,
        burst: u32,
    ) -> wasmtime::Result<Option<u32>> {
        self.answer(Take {
            bucket,
            per_hour,
            burst,
        })
        .await
    }
}
