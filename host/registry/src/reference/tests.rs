use super::*;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn a_reference_is_read_and_written() {
    let pinned = format!("ghcr.io/ada/greeter@{DIGEST}");
    let both = format!("ghcr.io/ada/greeter:1.0@{DIGEST}");
    let folder = format!("oci:./a:b/c@{DIGEST}");
    for (text, want) in [
        ("ghcr.io/ada/greeter:0.1.0", "ghcr.io/ada/greeter:0.1.0"),
        ("ghcr.io/ada/greeter", "ghcr.io/ada/greeter:latest"),
        ("greeter", "docker.io/library/greeter:latest"),
        ("ada/greeter:1", "docker.io/ada/greeter:1"),
        ("localhost/greeter:1", "localhost/greeter:1"),
        ("localhost:5000/a/b/c:1", "localhost:5000/a/b/c:1"),
        (
            "127.0.0.1:5000/a--b/c__d/e.f:_x",
            "127.0.0.1:5000/a--b/c__d/e.f:_x",
        ),
        ("[::1]:5000/a:1", "[::1]:5000/a:1"),
        ("ghcr.io:443/a:1", "ghcr.io:443/a:1"),
        (&pinned, &pinned),
        (&both, &both),
        ("oci:dir", "oci:dir"),
        ("oci:/a/b:1.0", "oci:/a/b:1.0"),
        ("oci:/a@b/c:1", "oci:/a@b/c:1"),
        (&folder, &folder),
    ] {
        let reference = Reference::parse(text).unwrap();
        assert_eq!(reference.to_string(), want);
        assert_eq!(Reference::parse(want).unwrap(), reference);
    }
}

#[test]
fn what_is_wrong_is_told_with_what_to_write() {
    let long = "a".repeat(300);
    let tag = format!("a.io/b:{}", "t".repeat(129));
    for (text, want) in [
        ("", "`registry/repository:tag`"),
        ("https://ghcr.io/ada/greeter", "write `ghcr.io/ada/greeter`"),
        ("oci://ghcr.io/ada/greeter", "leave out `oci://`"),
        ("oci:", "write `oci:DIR:tag`"),
        ("oci::tag", "write `oci:DIR:tag`"),
        ("oci:dir:", "the tag `` is wrong"),
        ("oci:dir@sha512:00", "other than sha256"),
        ("GHCR.io/ada/greeter", "write `ghcr.io`"),
        ("ghcr.io/Ada/greeter", "write `ada/greeter`"),
        ("ghcr.io/ada//greeter", "empty part"),
        ("ghcr.io/", "empty part"),
        ("ghcr.io/../v2", "the part `..`"),
        ("ghcr.io/a/./b", "the part `.`"),
        ("ghcr.io/a___b", "the part `a___b`"),
        ("ghcr.io/-a", "the part `-a`"),
        ("ghcr.io/a%2fb", "the part `a%2fb`"),
        ("ghcr.io/a?b", "the part `a?b`"),
        ("ghcr.io/a b", "the part `a b`"),
        ("ghcr.io/a:.b", "the tag `.b`"),
        ("ghcr.io/a:b c", "the tag `b c`"),
        (&tag, "at most 128"),
        ("ghcr.io/a@sha256:12", "2 digits"),
        ("ghcr.io/a@latest", "no algorithm"),
        ("user@ghcr.io/a", "no algorithm"),
        ("127.1:5000/a", "did you mean `127.0.0.1:5000`?"),
        ("127.0.0.1:05000/a", "did you mean"),
        ("a..b/c", "not a host"),
        ("münchen.de/c", "not a host"),
        ("a_b.de/c", "not a host"),
        ("-a.de/c", "not a host"),
        ("a.de:/c", "did you mean"),
        ("a.de:99999/c", "not a host"),
        (&long, "more than 255"),
    ] {
        let problem = Reference::parse(text).unwrap_err().to_string();
        assert!(problem.contains(want), "{text}: {problem}");
    }
}

#[test]
fn a_digest_takes_the_place_of_a_tag() {
    let digest = Digest::parse(DIGEST).unwrap();
    let at = |text: &str| Reference::parse(text).unwrap().at(digest).to_string();
    assert_eq!(at("ghcr.io/a:1"), format!("ghcr.io/a:1@{DIGEST}"));
    assert_eq!(at("oci:dir:1"), format!("oci:dir@{DIGEST}"));
}
