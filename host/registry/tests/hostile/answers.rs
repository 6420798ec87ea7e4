//! What the statuses of a registry mean, and mirrors.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use windlass_controlplane::lying::Reply;
use windlass_egress::{Resolve, Resolving};
use windlass_registry::*;

use super::fake::*;
use super::world::{kind, local};

#[tokio::test]
async fn each_status_is_one_decision() {
    // (status and headers, variant, whether a later try can help, what the error says)
    for (status, headers, variant, is_retryable, want) in [
        ("403 Forbidden", "", "Denied", false, "ask its owner"),
        ("404 Not Found", "", "NotFound", true, "check the name"),
        ("408 Timeout", "", "Unavailable", true, "408"),
        (
            "429 Too Many",
            "Retry-After: 7\r\n",
            "Unavailable",
            true,
            "429",
        ),
        (
            "429 Too Many",
            "Retry-After: 99999999\r\n",
            "Unavailable",
            true,
            "429",
        ),
        (
            "429 Too Many",
            "Retry-After: soon\r\n",
            "Unavailable",
            true,
            "429",
        ),
        ("500 Broken", "", "Unavailable", true, "try again"),
        ("503 Busy", "Retry-After: 7\r\n", "Unavailable", true, "503"),
        ("400 Bad", "", "Refused", false, "400"),
        ("418 Teapot", "", "Refused", false, "418"),
        ("300 Choices", "", "Refused", false, "redirect"),
        ("201 Created", "", "Refused", false, "201"),
    ] {
        for method in ["HEAD", "GET"] {
            let server =
                lying(move |seen| (seen.method == method).then(|| Reply::status(status, headers)))
                    .await;
            let error = pull(&server).await.unwrap_err();
            assert_eq!(
                (kind(&error), error.is_retryable()),
                (variant, is_retryable),
                "{error}"
            );
            assert!(error.to_string().contains(want), "{error}");
            if let Error::Unavailable { retry_after, .. } = error {
                let seconds = match headers {
                    "Retry-After: 7\r\n" => Some(7),
                    "Retry-After: 99999999\r\n" => Some(3600),
                    _ => None,
                };
                assert_eq!(retry_after, seconds.map(Duration::from_secs));
            }
        }
    }
}

#[tokio::test]
async fn the_host_of_a_reference_may_not_be_local_or_metadata() {
    let network = Network::new(&[
        ("meta.example", &["169.254.169.254"]),
        ("link.example", &["fe80::1"]),
        ("loop.example", &["127.0.0.1"]),
        ("none.example", &[]),
    ]);
    let settings = watched(&[], &network);
    // (registry, variant)
    for (registry, variant) in [
        ("meta.example", "Unreachable"),
        ("link.example", "Unreachable"),
        ("loop.example", "Unreachable"),
        ("127.0.0.1:1", "Unreachable"),
        ("[::1]:1", "Unreachable"),
        ("169.254.169.254", "Unreachable"),
        ("none.example", "Unavailable"),
        ("unknown.example", "Unavailable"),
    ] {
        let reference = Reference::parse(&format!("{registry}/a:1")).unwrap();
        let error = Client::new(settings.clone())
            .pull(&reference)
            .await
            .unwrap_err();
        assert_eq!(kind(&error), variant, "{error}");
    }
    assert!(network.hosts().is_empty());
}

/// Settings in which `mirror` is asked before `origin`.
fn mirrored(mirror: &Server, origin: &Server) -> Settings {
    let mut settings = watched(&[mirror, origin], &Network::new(&[]));
    let host = settings.hosts.get_mut(&origin.host).unwrap();
    host.mirrors = vec![mirror.host.clone()];
    settings
}

#[tokio::test]
async fn a_mirror_is_asked_first_and_spares_the_registry() {
    let (mirror, origin) = (lying(|_| None).await, lying(|_| None).await);
    let client = Client::new(mirrored(&mirror, &origin));
    let pulled = client.pull(&greeter(&origin)).await.unwrap();
    assert!(pulled.passed.is_empty());
    assert_eq!((mirror.seen().len(), origin.seen().len()), (4, 0));
}

#[tokio::test]
async fn a_mirror_that_fails_or_lies_is_passed_over() {
    let unknown = "WWW-Authenticate: Basic realm=\"r\"\r\n";
    // (path of the lie, answer, variant)
    for (path, reply, variant) in [
        (
            TAG_PATH.to_owned(),
            Reply::status("404 Not Found", ""),
            "NotFound",
        ),
        (
            TAG_PATH.to_owned(),
            Reply::status("503 Busy", ""),
            "Unavailable",
        ),
        (
            TAG_PATH.to_owned(),
            Reply::status("401 Unauthorized", unknown),
            "Unauthorized",
        ),
        (manifest_path(), Reply::ok("", b"{}"), "Refused"),
        (
            blob_path(LAYER),
            Reply::ok("", b"\0asm the competent"),
            "Refused",
        ),
    ] {
        let mirror = lying(move |seen| (seen.target == path).then(|| reply.clone())).await;
        let origin = lying(|_| None).await;
        let mut settings = mirrored(&mirror, &origin);
        settings
            .credentials
            .insert(&origin.host, Credentials::new("ada", "s3cret"));
        let client = Client::new(settings);
        let pulled = client.pull(&greeter(&origin)).await.unwrap();
        assert_eq!(pulled.component, LAYER);
        assert_eq!(
            pulled.passed.iter().map(kind).collect::<Vec<_>>(),
            [variant]
        );
        assert!(pulled.passed[0].to_string().contains(&mirror.host));
        // The credentials of the registry are not the mirror's.
        assert!(
            mirror
                .seen()
                .iter()
                .all(|seen| seen.header("authorization").is_none())
        );
    }
}

/// Gives the next address each time; the last one stays.
struct Changing(parking_lot::Mutex<Vec<IpAddr>>);

impl Resolve for Changing {
    fn resolve<'a>(&'a self, _name: &'a str) -> Resolving<'a> {
        let mut left = self.0.lock();
        let address = if left.len() > 1 {
            left.remove(0)
        } else {
            left[0]
        };
        Box::pin(async move { Ok(vec![address]) })
    }
}

#[tokio::test]
async fn a_name_is_checked_each_time_that_it_is_resolved() {
    let server = lying(|_| None).await;
    let name = server.host.replace("127.0.0.1", "registry.example");
    let network = Network::new(&[]);
    let mut settings = local(watched(&[], &network), &name);
    let addresses = ["127.0.0.1", "127.0.0.1", "169.254.169.254"];
    let addresses = addresses.map(|text| text.parse().unwrap());
    settings.resolver = Arc::new(Changing(parking_lot::Mutex::new(addresses.into())));
    let reference = Reference::parse(&format!("{name}/ada/greeter:1")).unwrap();
    let error = Client::new(settings).pull(&reference).await.unwrap_err();
    assert_eq!(kind(&error), "Unreachable", "{error}");
    // One lookup for each connection: the first two went through, and the third did not.
    assert_eq!((server.seen().len(), network.dialled.lock().len()), (2, 2));
    assert_eq!(server.seen()[0].header("host"), Some(&*name));
}
