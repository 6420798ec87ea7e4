use super::*;

fn candidate(config: &str) -> Candidate {
    let text = format!(
        "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: greeter }}\nspec: {{ source: {{ file: g.wasm }}, config: {{ a: {config} }} }}\n"
    );
    let origin = Origin::File("/plugins/g.yaml".into());
    let mut documents = manifest::parse(&origin, &text).unwrap();
    let component = Component::Known(digest(b"code"));
    Candidate::listed(documents.remove(0), text.into(), component)
}

#[test]
fn the_last_version_kept_is_the_one_that_is_loaded() {
    let state = tempfile::tempdir().unwrap();
    let kept = LastGood::open(state.path()).unwrap();
    assert_eq!(kept.load("greeter").unwrap(), None);
    for config in ["one", "two", "two"] {
        kept.keep_as(&candidate(config), b"code", KeptAs::LastGood)
            .unwrap();
    }
    let (loaded, component) = kept.load("greeter").unwrap().unwrap();
    assert_eq!((loaded, component), (candidate("two"), b"code".to_vec()));
    let file = Origin::File("/plugins/g.yaml".into());
    assert_eq!(kept.plugins(), [("greeter".to_owned(), file)]);
    let versions = fs::read_dir(state.path().join("plugins/greeter")).unwrap();
    assert_eq!(versions.count(), 2, "the version and the link to it");
    kept.forget("greeter").unwrap();
    assert_eq!(kept.load("greeter").unwrap(), None);
    kept.forget("greeter").unwrap();
}

#[test]
fn the_last_version_of_another_component_is_kept_too() {
    let state = tempfile::tempdir().unwrap();
    let kept = LastGood::open(state.path()).unwrap();
    let of = |config: &str, code: &[u8]| {
        let mut of = candidate(config);
        of.component = Component::Known(digest(code));
        of
    };
    let loaded = |loaded: Result<Option<(Candidate, Vec<u8>)>, KeptError>| {
        let (candidate, code) = loaded.unwrap()?;
        (candidate.component.digest() == Some(digest(&code))).then_some(code)
    };
    for (config, code, want) in [
        ("one", "a", None),
        ("two", "b", Some("a")),
        ("three", "b", Some("a")),
        ("four", "c", Some("b")),
        ("five", "b", Some("c")),
    ] {
        let version = of(config, code.as_bytes());
        kept.keep_as(&version, code.as_bytes(), KeptAs::LastGood)
            .unwrap();
        assert_eq!(
            loaded(kept.load("greeter")).as_deref(),
            Some(code.as_bytes())
        );
        let previous = loaded(kept.load_previous("greeter"));
        assert_eq!(previous.as_deref(), want.map(str::as_bytes), "{config}");
    }
    assert_eq!(
        kept.components("greeter"),
        [digest(b"b"), digest(b"c")].into()
    );
    let versions = fs::read_dir(state.path().join("plugins/greeter")).unwrap();
    assert_eq!(versions.count(), 4, "two versions and the links to them");
}

#[test]
fn a_version_on_trial_is_kept_beside_the_last_good_one_until_it_is_good() {
    let state = tempfile::tempdir().unwrap();
    let kept = LastGood::open(state.path()).unwrap();
    let held = || {
        let loaded = [kept.load("greeter"), kept.load_previous("greeter")];
        let code = |it: Result<Option<(Candidate, Vec<u8>)>, KeptError>| it.unwrap().map(|it| it.1);
        loaded.map(|it| code(it).map(|code| String::from_utf8(code).unwrap()))
    };
    let text = |code: &str| Some(code.to_owned());
    kept.promote("greeter").unwrap();
    let keep = |code: &[u8], as_what| kept.keep_as(&candidate("one"), code, as_what).unwrap();
    keep(b"a", KeptAs::LastGood);
    keep(b"b", KeptAs::OnTrial);
    assert_eq!(held(), [text("a"), None]);
    keep(b"c", KeptAs::OnTrial);
    assert_eq!(held(), [text("a"), None]);
    let component = |code: &[u8]| kept.component("greeter", &digest(code)).is_some();
    assert_eq!(
        [b"a", b"b", b"c"].map(|code| component(code)),
        [true, false, true]
    );
    kept.promote("greeter").unwrap();
    assert_eq!(held(), [text("c"), text("a")]);
    kept.promote("greeter").unwrap();
    assert_eq!(held(), [text("c"), text("a")]);
    assert_eq!(
        kept.components("greeter"),
        [digest(b"a"), digest(b"c")].into()
    );
}

#[test]
fn a_version_that_was_cut_or_changed_is_not_loaded() {
    let state = tempfile::tempdir().unwrap();
    let kept = LastGood::open(state.path()).unwrap();
    kept.keep_as(&candidate("one"), b"code", KeptAs::LastGood)
        .unwrap();
    let version = state.path().join("plugins/greeter/last-good");
    fs::write(version.join(COMPONENT), b"cod").unwrap();
    assert!(
        kept.load("greeter")
            .unwrap_err()
            .to_string()
            .contains("was changed since")
    );
}

#[test]
fn another_document_of_the_same_component_is_kept_without_it() {
    let state = tempfile::tempdir().unwrap();
    let kept = LastGood::open(state.path()).unwrap();
    let good = KeptAs::LastGood;
    assert!(kept.keep_again(&candidate("one"), good).is_err());
    kept.keep_as(&candidate("one"), b"code", good).unwrap();
    kept.keep_again(&candidate("two"), good).unwrap();
    let (loaded, component) = kept.load("greeter").unwrap().unwrap();
    assert_eq!((loaded, component), (candidate("two"), b"code".to_vec()));
    let mut other = candidate("three");
    other.component = Component::Known(digest(b"other"));
    assert!(kept.keep_again(&other, good).is_err());
    kept.keep_as(&other, b"other", KeptAs::OnTrial).unwrap();
    let mut next = candidate("four");
    next.component = other.component;
    kept.keep_again(&next, KeptAs::OnTrial).unwrap();
    let (loaded, _) = kept.load("greeter").unwrap().unwrap();
    assert_eq!(loaded, candidate("two"), "what is on trial is not it");
    kept.promote("greeter").unwrap();
    let (loaded, _) = kept.load("greeter").unwrap().unwrap();
    assert_eq!(loaded, next);
}

#[test]
fn a_version_that_failed_its_trial_is_remembered_until_it_is_good() {
    let state = tempfile::tempdir().unwrap();
    let kept = LastGood::open(state.path()).unwrap();
    kept.keep_as(&candidate("one"), b"code", KeptAs::LastGood)
        .unwrap();
    let bad = candidate("two");
    kept.reject(&bad, "it fails").unwrap();
    assert_eq!(kept.rejected("greeter"), None, "it was not on trial");
    kept.keep_as(&bad, b"code", KeptAs::OnTrial).unwrap();
    kept.reject(&candidate("three"), "it fails").unwrap();
    assert_eq!(kept.rejected("greeter"), None, "another one is on trial");
    kept.reject(&bad, "it fails").unwrap();
    let want = Some((bad.clone(), "it fails".to_owned()));
    assert_eq!(kept.rejected("greeter"), want);
    kept.promote("greeter").unwrap();
    let (loaded, _) = kept.load("greeter").unwrap().unwrap();
    assert_eq!(loaded, candidate("one"), "nothing is on trial any more");
    kept.keep_as(&candidate("three"), b"code", KeptAs::LastGood)
        .unwrap();
    assert_eq!(kept.rejected("greeter"), want, "it is another version");
    // Somebody has chosen it.
    kept.keep_as(&bad, b"code", KeptAs::LastGood).unwrap();
    assert_eq!(kept.rejected("greeter"), None);
}

#[test]
fn another_configuration_of_the_last_good_version_is_not_remembered_as_failed() {
    let state = tempfile::tempdir().unwrap();
    let kept = LastGood::open(state.path()).unwrap();
    let good = candidate("one");
    kept.keep_as(&good, b"code", KeptAs::LastGood).unwrap();
    // What of its configuration is in a Secret is not kept: it is the same version here.
    kept.keep_as(&good, b"code", KeptAs::OnTrial).unwrap();
    kept.reject(&good, "it fails").unwrap();
    assert_eq!(kept.rejected("greeter"), None);
    let (loaded, _) = kept.load("greeter").unwrap().unwrap();
    assert_eq!(loaded, good);
    kept.promote("greeter").unwrap();
    let versions = fs::read_dir(state.path().join("plugins/greeter")).unwrap();
    assert_eq!(versions.count(), 2, "the version and the link to it");
}
