//! Reads `/etc/hosts` and `/etc/resolv.conf` as the C library does.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use hickory_resolver::system_conf::parse_resolv_conf;

/// The port of name servers.
const PORT: u16 = 53;
/// The name server of a system that names none.
const NO_SERVER: &str = "\nnameserver 127.0.0.1\n";

/// Where the files are.
pub(super) struct Files {
    pub(super) hosts: PathBuf,
    pub(super) resolv: PathBuf,
    /// The port of all name servers. Tests have another one.
    pub(super) port: u16,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            hosts: "/etc/hosts".into(),
            resolv: "/etc/resolv.conf".into(),
            port: PORT,
        }
    }
}

/// The time and size of a file, which tell that the file has changed. None if there is no file.
type Stamp = Option<(SystemTime, u64)>;
/// One for each file.
pub(super) type Stamps = [Stamp; 2];

impl Files {
    pub(super) fn stamps(&self) -> Stamps {
        [&self.hosts, &self.resolv].map(|file| {
            let data = fs::metadata(file).ok()?;
            Some((data.modified().ok()?, data.len()))
        })
    }

    /// The text of the file of hosts; empty if it cannot be read.
    pub(super) fn hosts(&self) -> String {
        text(&self.hosts).unwrap_or_default()
    }

    /// Which name servers are asked, and how.
    pub(super) fn servers(&self) -> io::Result<(ResolverConfig, ResolverOpts)> {
        let mut text = match text(&self.resolv) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let file = self.resolv.display();
                return Err(io::Error::other(format!("cannot read {file}: {error}")));
            }
            text => text.unwrap_or_default(),
        };
        let is_server = |line: &str| line.split_whitespace().next() == Some("nameserver");
        if !text.lines().any(is_server) {
            text.push_str(NO_SERVER);
        }
        let (config, options) = parse_resolv_conf(&text).map_err(|error| {
            let file = self.resolv.display();
            io::Error::other(format!("cannot use {file}: {error}"))
        })?;
        // The domain of the machine is searched only if the file has no list. The parser would always add it.
        let search = match (config.search(), config.domain()) {
            ([], Some(domain)) => vec![domain.clone()],
            (search, _) => search.to_vec(),
        };
        let mut servers = config.name_servers().to_vec();
        for connection in servers.iter_mut().flat_map(|it| &mut it.connections) {
            connection.port = self.port;
        }
        Ok((ResolverConfig::from_parts(None, search, servers), options))
    }
}

fn text(file: &Path) -> io::Result<String> {
    fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines of a file of hosts: an address, and its names in lower case.
pub(super) fn hosts(text: &str) -> Vec<(IpAddr, Vec<String>)> {
    let line = |line: &str| {
        let before = line.split('#').next().unwrap_or_default();
        let mut words = before.split_whitespace();
        let address = words.next()?.parse().ok()?;
        Some((address, words.map(str::to_ascii_lowercase).collect()))
    };
    text.lines().filter_map(line).collect()
}

/// The addresses of a name in `hosts`, in their order and each once.
pub(super) fn addresses(hosts: &[(IpAddr, Vec<String>)], name: &str) -> Vec<IpAddr> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_of = |names: &[String]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
    let mut found = Vec::new();
    for (address, names) in hosts {
        if is_of(names) && !found.contains(address) {
            found.push(*address);
        }
    }
    found
}
