use windlass_egress::{SystemResolver, TcpDialer};

use super::*;

fn settings(hosts: &[(&str, HostSettings)]) -> Settings {
    Settings {
        roots: Arc::new(RootCertStore::empty()),
        resolver: Arc::new(SystemResolver::default()),
        dialer: Arc::new(TcpDialer),
        clock: Clock::system(),
        user_agent: HeaderValue::from_static("windlass"),
        credentials: DockerConfig::default(),
        hosts: hosts
            .iter()
            .map(|(name, host)| ((*name).to_owned(), host.clone()))
            .collect(),
    }
}

#[test]
fn addresses_are_allowed_by_who_chose_the_host() {
    use Role::{Elsewhere, Registry};
    // (address, the registry's own host, the same if it is named, a redirect's host, the same if it is named)
    for (address, registry, named_registry, elsewhere, named_elsewhere) in [
        ("1.1.1.1", true, true, true, true),
        ("10.0.0.1", true, true, false, true),
        ("::ffff:10.0.0.1", true, true, false, true),
        ("fd00::1", true, true, false, true),
        ("100.64.0.1", true, true, false, true),
        ("127.0.0.1", false, true, false, true),
        ("::1", false, true, false, true),
        ("::ffff:127.0.0.1", false, true, false, true),
        ("169.254.169.254", false, false, false, false),
        ("169.254.1.1", false, false, false, false),
        ("fe80::1", false, false, false, false),
        ("fd00:ec2::254", false, false, false, false),
        ("100.100.100.200", false, false, false, false),
        ("64:ff9b::169.254.169.254", false, false, false, false),
        ("0.0.0.0", false, false, false, false),
        ("224.0.0.1", false, false, false, false),
        ("2002:7f00:1::", false, false, false, false),
        ("240.0.0.1", false, false, false, false),
    ] {
        let kind = Kind::of(address.parse().unwrap());
        let found = [
            (Registry, false),
            (Registry, true),
            (Elsewhere, false),
            (Elsewhere, true),
        ]
        .map(|(role, named)| allowed(kind, role, named));
        assert_eq!(
            found,
            [registry, named_registry, elsewhere, named_elsewhere],
            "{address}"
        );
    }
}

#[test]
fn http_is_for_hosts_that_are_named_for_it() {
    let plain = HostSettings {
        plain_http: true,
        ..HostSettings::default()
    };
    let settings = settings(&[
        ("plain.example", plain.clone()),
        ("port.example:5000", plain),
    ]);
    for (registry, want) in [
        ("ghcr.io", "https://ghcr.io/"),
        ("docker.io", "https://registry-1.docker.io/"),
        ("plain.example", "http://plain.example/"),
        ("plain.example:8080", "https://plain.example:8080/"),
        ("port.example:5000", "http://port.example:5000/"),
        ("port.example", "https://port.example/"),
        ("x.plain.example", "https://x.plain.example/"),
    ] {
        assert_eq!(settings.base(registry).unwrap().as_str(), want);
    }
    for registry in [
        "",
        "a/b",
        "u@a.example",
        "a.example?x",
        "127.1",
        "https://a.example",
    ] {
        assert!(
            matches!(settings.base(registry), Err(Problem::Invalid(_))),
            "{registry}"
        );
    }
}

#[test]
fn mirrors_are_asked_before_the_registry() {
    let host = HostSettings {
        mirrors: vec!["a.example".to_owned(), "b.example:5000".to_owned()],
        ..HostSettings::default()
    };
    let settings = settings(&[("docker.io", host)]);
    assert_eq!(
        settings.asked("docker.io"),
        ["a.example", "b.example:5000", "docker.io"]
    );
    assert_eq!(settings.asked("ghcr.io"), ["ghcr.io"]);
}
