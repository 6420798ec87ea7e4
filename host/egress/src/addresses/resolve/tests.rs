//! Lookups by a name server of the test, which counts what it is asked.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;

use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::A;
use hickory_resolver::proto::rr::{RData, Record, RecordType};
use tempfile::TempDir;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::*;

/// A name server on loopback. Names that begin with `dead` get no answer.
struct Server {
    folder: TempDir,
    port: u16,
    /// The names of all questions about IPv4, in their order.
    asked: watch::Receiver<Vec<String>>,
    _task: JoinSet<()>,
}

impl Server {
    /// A server that knows `names`, and a file `resolv.conf` with `lines`.
    #[expect(clippy::disallowed_methods, reason = "a test waits for one event")]
    async fn start(names: &[(&str, &str)], lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let names: BTreeMap<String, Ipv4Addr> = names
            .iter()
            .map(|(name, address)| ((*name).to_owned(), address.parse().unwrap()))
            .collect();
        let (notes, asked) = watch::channel(Vec::new());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut bytes = [0; 4096];
            loop {
                let (length, from) = socket.recv_from(&mut bytes).await.unwrap();
                let question = Message::from_vec(&bytes[..length]).unwrap();
                if let Some(answer) = answer(&question, &names, &notes) {
                    socket
                        .send_to(&answer.to_vec().unwrap(), from)
                        .await
                        .unwrap();
                }
            }
        });
        let server = Self {
            folder,
            port,
            asked,
            _task: task,
        };
        server.write("resolv.conf", &format!("nameserver 127.0.0.1\n{lines}"));
        server
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.path().join(file), text).unwrap();
    }

    fn resolver(&self) -> SystemResolver {
        let files = Files {
            hosts: self.folder.path().join("hosts"),
            resolv: self.folder.path().join("resolv.conf"),
            port: self.port,
        };
        SystemResolver(Arc::new(Shared {
            files,
            current: Mutex::default(),
        }))
    }

    fn asked(&self) -> Vec<String> {
        self.asked.borrow().clone()
    }
}

#[expect(clippy::disallowed_types, reason = "a test waits for one event")]
fn answer(
    question: &Message,
    names: &BTreeMap<String, Ipv4Addr>,
    notes: &watch::Sender<Vec<String>>,
) -> Option<Message> {
    let query = question.queries.first().unwrap();
    let name = query.name().to_ascii().to_ascii_lowercase();
    let is_first = query.query_type() == RecordType::A;
    if is_first {
        // On a busy machine, the resolver asks the same again before the answer comes.
        notes.send_if_modified(|asked| {
            let is_news = asked.last() != Some(&name);
            if is_news {
                asked.push(name.clone());
            }
            is_news
        });
    }
    if name.starts_with("dead") {
        return None;
    }
    let mut answer = question.clone().into_response();
    match names.get(&name) {
        Some(address) if is_first => {
            let data = RData::A(A(*address));
            answer.add_answer(Record::from_rdata(query.name().clone(), 60, data));
        }
        Some(_) => {}
        None => answer.metadata.response_code = ResponseCode::NXDomain,
    }
    Some(answer)
}

fn texts(found: io::Result<Vec<IpAddr>>) -> Vec<String> {
    let found = found.unwrap();
    found.iter().map(ToString::to_string).collect()
}

const POD: &str = "search ns.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n";

#[test]
fn search_domains_are_for_services_alone() {
    for (name, want) in [
        ("api.com", "api.com."),
        ("api.com.", "api.com."),
        (
            "web.default.svc.cluster.local",
            "web.default.svc.cluster.local.",
        ),
        ("web.default.svc", "web.default.svc"),
        ("web", "web"),
    ] {
        assert_eq!(looked_up(name), want);
    }
}

#[tokio::test]
async fn the_search_list_is_asked_in_its_order() {
    let names = [
        ("web.ns.svc.cluster.local.", "10.0.0.1"),
        ("web.default.svc.cluster.local.", "10.0.0.2"),
        ("api.com.", "1.1.1.1"),
    ];
    // (name, options of the file, address, questions)
    let rows: [(&str, &str, &str, &[&str]); 5] = [
        ("web", POD, "10.0.0.1", &["web.ns.svc.cluster.local."]),
        (
            "web.default.svc",
            POD,
            "10.0.0.2",
            &[
                "web.default.svc.ns.svc.cluster.local.",
                "web.default.svc.svc.cluster.local.",
                "web.default.svc.cluster.local.",
            ],
        ),
        // With fewer dots, the name itself comes first.
        (
            "web.default.svc",
            "search cluster.local\noptions ndots:2\n",
            "10.0.0.2",
            &["web.default.svc.", "web.default.svc.cluster.local."],
        ),
        ("api.com", POD, "1.1.1.1", &["api.com."]),
        // The last list counts.
        (
            "web",
            "domain wrong.local\nsearch ns.svc.cluster.local\n",
            "10.0.0.1",
            &["web.ns.svc.cluster.local."],
        ),
    ];
    for (name, lines, address, questions) in rows {
        let server = Server::start(&names, lines).await;
        let found = server.resolver().resolve(name).await;
        assert_eq!(texts(found), [address], "{name}");
        assert_eq!(server.asked(), questions, "{name} {lines}");
    }
}

#[tokio::test]
async fn the_file_of_hosts_comes_first_and_is_read_again() {
    let server = Server::start(&[("api.com.", "1.1.1.1")], POD).await;
    let resolver = server.resolver();
    assert_eq!(texts(resolver.resolve("api.com").await), ["1.1.1.1"]);
    let lines = "# 9.9.9.9 api.com\n10.0.0.7 other API.com # api.com\n::7 api.com\nwrong api.com\n";
    server.write("hosts", lines);
    for name in ["api.com", "api.com.", "Api.Com"] {
        assert_eq!(texts(resolver.resolve(name).await), ["10.0.0.7", "::7"]);
    }
    assert_eq!(server.asked(), ["api.com."]);
}

#[tokio::test]
async fn an_answer_is_kept_until_the_files_change() {
    let server = Server::start(&[("api.com.", "1.1.1.1")], POD).await;
    let resolver = server.resolver();
    for _ in 0..3 {
        let clone = resolver.clone();
        assert_eq!(texts(clone.resolve("api.com").await), ["1.1.1.1"]);
    }
    assert_eq!(server.asked(), ["api.com."]);
    let other = resolver.resolve("other.com").await;
    assert!(other.is_err());
    server.write("resolv.conf", "nameserver 127.0.0.1\nsearch other.local\n");
    assert_eq!(texts(resolver.resolve("api.com").await), ["1.1.1.1"]);
    assert_eq!(server.asked(), ["api.com.", "other.com.", "api.com."]);
}

#[tokio::test]
async fn names_that_nobody_answers_keep_no_other_name_waiting() {
    let server = Server::start(&[("api.com.", "1.1.1.1")], POD).await;
    let resolver = server.resolver();
    let mut dead = JoinSet::new();
    for number in 0..100 {
        let resolver = resolver.clone();
        dead.spawn(async move { resolver.resolve(&format!("dead{number}.com")).await });
    }
    let mut asked = server.asked.clone();
    let all = |asked: &Vec<String>| (0..100).all(|it| asked.contains(&format!("dead{it}.com.")));
    asked.wait_for(all).await.unwrap();
    assert_eq!(texts(resolver.resolve("api.com").await), ["1.1.1.1"]);
    while let Some(done) = dead.try_join_next() {
        assert!(done.unwrap().is_err(), "a dead name was answered");
    }
}

#[tokio::test]
async fn a_name_without_an_address_is_an_error() {
    let server = Server::start(&[], POD).await;
    let error = server.resolver().resolve("api.com").await.unwrap_err();
    assert!(error.to_string().contains("api.com"), "{error}");
    // The directory cannot be read as a file.
    fs::remove_file(server.folder.path().join("resolv.conf")).unwrap();
    fs::create_dir(server.folder.path().join("resolv.conf")).unwrap();
    let error = server.resolver().resolve("api.com").await.unwrap_err();
    assert!(error.to_string().contains("cannot read"), "{error}");
}

#[tokio::test]
async fn a_name_server_gets_a_second_at_least() {
    let server = Server::start(&[("api.com.", "1.1.1.1")], "options timeout:0\n").await;
    let found = server.resolver().resolve("api.com").await;
    assert_eq!(texts(found), ["1.1.1.1"]);
}

#[test]
fn a_system_without_name_servers_has_one_on_this_machine() {
    let missing = Files {
        resolv: "/nowhere/resolv.conf".into(),
        ..Files::default()
    };
    let (config, _) = missing.servers().unwrap();
    let servers: Vec<_> = config.name_servers().iter().map(|it| it.ip).collect();
    assert_eq!(servers, [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
}

#[tokio::test]
async fn the_system_knows_this_machine() {
    let addresses = SystemResolver::default()
        .resolve("localhost")
        .await
        .unwrap();
    assert!(
        addresses.iter().all(|address| address.is_loopback()),
        "{addresses:?}"
    );
    assert!(!addresses.is_empty());
}
