//! Asks a host's own ports.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::Host;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

impl Host {
    /// Where it serves `what`, as it says in its log.
    ///
    /// # Errors
    /// It does not say so.
    pub async fn serves(&self, what: &str) -> Result<String> {
        let line = self.says(&format!("serving {what}")).await?;
        Ok(line.field("address").to_owned())
    }
}

/// The status and the body of what is at `address` under `path`.
///
/// # Errors
/// There is no whole answer.
pub fn ask(address: &str, path: &str) -> Result<(u16, String)> {
    ask_as(address, address, path)
}

/// As [`ask`], by another name.
///
/// # Errors
/// There is no whole answer.
pub fn ask_as(address: &str, host: &str, path: &str) -> Result<(u16, String)> {
    ask_by("GET", address, host, path)
}

/// As [`ask_as`], by another method.
///
/// # Errors
/// There is no whole answer.
pub fn ask_by(method: &str, address: &str, host: &str, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // An answer to HTTP/1.0 is not in chunks, and ends with its connection.
    write!(stream, "{method} {path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .context("an answer has a head")?;
    let status = head.split(' ').nth(1).context("a head has a status")?;
    Ok((status.parse()?, body.to_owned()))
}
