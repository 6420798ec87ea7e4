//! What a platform team would run instead of Windlass: controllers on kube-rs, as its documentation writes
//! them. It prints "ready" once its stores are in step.
//!
//! ```text
//! kube-rs-contestant [-lean] greet NAMESPACE
//! kube-rs-contestant [-lean] ring NAMESPACE FIRST COUNT
//! kube-rs-contestant [-lean] hold NAMESPACE configmaps|pods
//! kube-rs-contestant [-lean] rerun NAMESPACE
//! ```
//!
//! The cluster is that of KUBECONFIG. `-lean` is the form that is recommended where memory is short.

mod greet;
mod hold;
mod ring;
mod watch;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Client;

use crate::hold::Asks;

#[tokio::main]
async fn main() -> Result<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let lean = words.first().is_some_and(|word| word == "-lean");
    if lean {
        words.remove(0);
    }
    let word = |place: usize| {
        let word = words.get(place).map(String::as_str);
        word.context("usage: kube-rs-contestant [-lean] greet|ring|hold|rerun NAMESPACE …")
    };
    let number = |place: usize| anyhow::Ok(word(place)?.parse::<usize>()?);
    let client = Client::try_default().await?;
    let namespace = word(1)?;
    match word(0)? {
        "greet" => greet::run(client, namespace, lean).await,
        "ring" => ring::run(client, namespace, lean, number(2)?, number(3)?).await,
        "hold" => match word(2)? {
            "configmaps" => {
                hold::run::<ConfigMap>(client, namespace, lean, Asks::default()).await
            }
            "pods" => hold::run::<Pod>(client, namespace, lean, Asks::default()).await,
            other => bail!("no resource {other:?} to hold"),
        },
        "rerun" => hold::run::<ConfigMap>(client, namespace, lean, Asks::again()).await,
        other => bail!("no workload {other:?}"),
    }
}
