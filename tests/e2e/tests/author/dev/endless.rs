//! Plugins that never come to rest.

use std::fs;

use anyhow::{Result, ensure};
use windlass_e2e::Dev;

use super::puppet;

#[tokio::test]
async fn an_endless_loop_is_not_settled_and_is_named() -> Result<()> {
    let home = puppet("[{ claim: { apiVersion: v1, kind: ConfigMap, metadata: { name: c } } }]")?;
    let other = "apiVersion: examples.windlass.dev/v1
kind: Greeting
metadata: { name: bob }
spec: { name: Bob }
";
    fs::write(home.path().join("bob.yaml"), other)?;
    let dev = Dev::start(home.path(), &["--once"])?;
    let status = dev.ended().await?;
    let errors = dev.errors();
    assert_eq!(status.code(), Some(1), "{errors}");
    let what = "each pass rewrites ConfigMap default/c .data.text, in turn with the passes over Greeting default/";
    ensure!(
        errors.contains("not settled: ")
            && errors.contains("endless loop")
            && errors.contains(what),
        "{errors}"
    );
    Ok(())
}
