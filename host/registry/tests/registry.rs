//! Pulls from Debian's docker-registry and pushes to it, with a folder of its own on 127.0.0.1.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "hostile/world.rs"]
mod world;

use std::fs;

use bytes::Bytes;
use tempfile::TempDir;
use windlass_controlplane::Registry;
use windlass_registry::*;
use world::{artifact, kind, local, parse, settings};

/// A reference to something in `registry`.
fn at(registry: &Registry, rest: &str) -> Reference {
    parse(&format!("{}/{rest}", registry.host()))
}

#[tokio::test]
async fn what_is_pushed_is_pulled_by_tag_and_by_digest() {
    let registry = Registry::plain().unwrap();
    let client = Client::new(local(settings(), registry.host()));
    let tag = at(&registry, "ada/greeter:0.1.0");
    let digest = client.push(&tag, &artifact("one")).await.unwrap();
    assert_eq!(client.push(&tag, &artifact("one")).await.unwrap(), digest);
    assert_eq!(client.resolve(&tag).await.unwrap(), digest);
    for reference in [
        &tag,
        &tag.at(digest),
        &at(&registry, &format!("ada/greeter@{digest}")),
    ] {
        let pulled = client.pull(reference).await.unwrap();
        assert_eq!(pulled.digest, digest);
        assert_eq!(pulled.component, artifact("one").component);
        assert_eq!(pulled.annotations, artifact("one").annotations);
        assert!(pulled.passed.is_empty());
    }
    // The tag moves; the digest stays.
    let other = client.push(&tag, &artifact("two")).await.unwrap();
    assert_ne!(other, digest);
    assert_eq!(
        client.pull(&tag).await.unwrap().component,
        artifact("two").component
    );
    let pulled = client.pull(&tag.at(digest)).await.unwrap();
    assert_eq!(pulled.component, artifact("one").component);
    // A manifest is pushed by its own digest, and by no other.
    let pinned = at(&registry, &format!("ada/pinned@{digest}"));
    assert_eq!(
        client.push(&pinned, &artifact("one")).await.unwrap(),
        digest
    );
    let error = client.push(&pinned, &artifact("two")).await.unwrap_err();
    assert_eq!(kind(&error), "Invalid", "{error}");
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let registry = Registry::plain().unwrap();
    let client = Client::new(local(settings(), registry.host()));
    let tag = at(&registry, "ada/greeter:1");
    let digest = client.push(&tag, &artifact("one")).await.unwrap();
    let missing = Digest::of(b"missing");
    for reference in [
        at(&registry, "ada/nothing:1"),
        at(&registry, "ada/greeter:2"),
        tag.at(missing),
        at(&registry, &format!("ada/nothing@{digest}")),
    ] {
        let error = client.pull(&reference).await.unwrap_err();
        assert_eq!(kind(&error), "NotFound", "{error}");
        assert!(
            error.to_string().contains(&reference.to_string()),
            "{error}"
        );
    }
}

#[tokio::test]
async fn what_was_changed_on_the_disk_is_refused() {
    let registry = Registry::plain().unwrap();
    let client = Client::new(local(settings(), registry.host()));
    let tag = at(&registry, "ada/greeter:1");
    client.push(&tag, &artifact("one")).await.unwrap();
    let pulled = client.pull(&tag).await.unwrap();
    let mut forged = pulled.component.clone();
    forged.reverse();
    registry
        .forge(&Digest::of(&pulled.component).hex(), &forged)
        .unwrap();
    let error = client.pull(&tag).await.unwrap_err();
    assert_eq!(kind(&error), "Refused", "{error}");
    forged.push(0);
    registry
        .forge(&Digest::of(&pulled.component).hex(), &forged)
        .unwrap();
    let error = client.pull(&tag).await.unwrap_err();
    assert_eq!(kind(&error), "Refused", "{error}");
}

#[tokio::test]
async fn a_large_component_comes_back_whole() {
    let registry = Registry::plain().unwrap();
    let client = Client::new(local(settings(), registry.host()));
    let tag = at(&registry, "ada/large:1");
    let mut large = artifact("large");
    let bytes = (0..LARGEST_LAYER).map(|at| (at % 251) as u8);
    large.component = Bytes::from_iter(bytes);
    client.push(&tag, &large).await.unwrap();
    assert_eq!(client.pull(&tag).await.unwrap().component, large.component);
}

#[tokio::test]
async fn a_folder_and_a_registry_hold_the_same() {
    let registry = Registry::plain().unwrap();
    let client = Client::new(local(settings(), registry.host()));
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("layout");
    let layout = |rest: &str| parse(&format!("oci:{}{rest}", path.display()));
    let error = client.pull(&layout("")).await.unwrap_err();
    assert_eq!(kind(&error), "NotFound", "{error}");

    let digest = client.push(&layout(":1"), &artifact("one")).await.unwrap();
    let tag = at(&registry, "ada/greeter:1");
    assert_eq!(client.push(&tag, &artifact("one")).await.unwrap(), digest);
    let there = client.pull(&tag).await.unwrap();
    for rest in ["", ":1", &format!("@{digest}")] {
        assert_eq!(client.pull(&layout(rest)).await.unwrap(), there, "{rest}");
        assert_eq!(client.resolve(&layout(rest)).await.unwrap(), digest);
    }
    // A second artifact beside it, which then takes its tag.
    let other = client.push(&layout(":2"), &artifact("two")).await.unwrap();
    let error = client.pull(&layout("")).await.unwrap_err();
    assert_eq!(kind(&error), "Invalid", "{error}");
    let error = client.pull(&layout(":3")).await.unwrap_err();
    assert_eq!(kind(&error), "NotFound", "{error}");
    assert!(error.to_string().contains("1, 2"), "{error}");
    client.push(&layout(":1"), &artifact("two")).await.unwrap();
    assert_eq!(client.resolve(&layout(":1")).await.unwrap(), other);

    // Each file that is changed is refused.
    let blob = path
        .join("blobs/sha256")
        .join(Digest::of(&artifact("two").component).hex());
    fs::write(&blob, "other").unwrap();
    let error = client.pull(&layout(":2")).await.unwrap_err();
    assert_eq!(kind(&error), "Refused", "{error}");
    fs::remove_file(&blob).unwrap();
    let error = client.pull(&layout(":2")).await.unwrap_err();
    assert_eq!(kind(&error), "NotFound", "{error}");
    fs::create_dir(&blob).unwrap();
    let error = client.pull(&layout(":2")).await.unwrap_err();
    assert_eq!(kind(&error), "Refused", "{error}");
    for file in ["oci-layout", "index.json"] {
        let kept = fs::read(path.join(file)).unwrap();
        for forged in [
            "",
            "[]",
            "{}",
            "{\"manifests\":[{\"digest\":\"sha512:00\"}]}",
        ] {
            fs::write(path.join(file), forged).unwrap();
            let error = client.pull(&layout("")).await.unwrap_err();
            assert!(
                ["Refused", "NotFound"].contains(&kind(&error)),
                "{file} {forged}: {error}"
            );
        }
        fs::write(path.join(file), kept).unwrap();
    }
}

#[tokio::test]
async fn a_registry_with_users_wants_the_right_one() {
    let registry = Registry::with_user().unwrap();
    let tag = at(&registry, "ada/greeter:1");
    let client = |config: &str| {
        let mut settings = local(settings(), registry.host());
        settings.credentials =
            DockerConfig::read(&config.replace("HOST", registry.host())).unwrap();
        Client::new(settings)
    };
    let good = client(r#"{"auths": {"HOST": {"auth": "YWRhOnMzY3JldA=="}}}"#);
    let digest = good.push(&tag, &artifact("one")).await.unwrap();
    assert_eq!(good.pull(&tag).await.unwrap().digest, digest);
    let plain = client(r#"{"auths": {"HOST": {"username": "ada", "password": "s3cret"}}}"#);
    assert_eq!(plain.pull(&tag).await.unwrap().digest, digest);
    // (config.json, what the error says)
    for (config, want) in [
        ("{}", "add `127.0.0.1:"),
        (
            r#"{"auths": {"127.0.0.1": {"auth": "YWRhOnMzY3JldA=="}}}"#,
            "add `127.0.0.1:",
        ),
        (
            r#"{"auths": {"HOST": {"username": "ada", "password": "other"}}}"#,
            "check the credentials",
        ),
        (
            r#"{"credHelpers": {"HOST": "pass"}}"#,
            "docker-credential-pass",
        ),
    ] {
        let client = client(config);
        for error in [
            client.pull(&tag).await.unwrap_err(),
            client.push(&tag, &artifact("two")).await.unwrap_err(),
        ] {
            assert_eq!(kind(&error), "Unauthorized", "{config}: {error}");
            assert!(error.to_string().contains(want), "{config}: {error}");
        }
    }
}

#[tokio::test]
async fn a_host_has_an_authority_of_its_own() {
    let registry = Registry::secure().unwrap();
    let certificate = fs::read_to_string(registry.folder().join("tls.crt")).unwrap();
    let tag = at(&registry, "ada/greeter:1");
    let client = |ca: Option<&str>, allow_local: bool| {
        let mut settings = settings();
        let host = HostSettings {
            allow_local,
            ca: ca.map(|pem| pem.as_bytes().to_vec()),
            ..HostSettings::default()
        };
        settings.hosts.insert(registry.host().to_owned(), host);
        Client::new(settings)
    };
    let good = client(Some(&certificate), true);
    let digest = good.push(&tag, &artifact("one")).await.unwrap();
    assert_eq!(good.pull(&tag).await.unwrap().digest, digest);
    // (client, what its error is)
    for (client, want) in [
        (client(None, true), "Unavailable"),
        (client(Some("no certificate"), true), "Invalid"),
        (client(Some(&certificate), false), "Unreachable"),
        (Client::new(local(settings(), registry.host())), "Refused"),
    ] {
        let error = client.pull(&tag).await.unwrap_err();
        assert_eq!(kind(&error), want, "{error}");
    }
}
