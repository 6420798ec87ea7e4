use super::*;

fn description(rule: types::Rule) -> types::Description {
    types::Description {
        name: "p".into(),
        version: "1".into(),
        primaries: vec![types::Watch {
            api_version: "x.dev/v1".into(),
            kind: "Thing".into(),
            label_selector: None,
            field_selector: None,
            trigger: types::Trigger::AnyChange,
            fields: Vec::new(),
            finalizes: types::Finalizes::Never,
            on_leave: types::OnLeave::Forget,
        }],
        needs: vec![rule],
        origins: Vec::new(),
        crds: Vec::new(),
    }
}

fn rule(groups: usize, resources: usize, verb: &str) -> types::Rule {
    types::Rule {
        api_groups: vec!["x.dev".into(); groups],
        resources: vec!["things".into(); resources],
        resource_names: Vec::new(),
        verbs: vec![verb.into()],
        fields: Vec::new(),
    }
}

#[test]
fn a_description_cannot_be_made_to_grow_in_the_host() {
    assert!(Description::read(description(rule(2, 3, "get"))).is_ok_and(|d| d.needs.len() == 6));
    let too_much = [
        description(rule(60, 60, "get")),
        description(rule(1, 65, "get")),
        description(rule(1, 1, &"x".repeat(513))),
        description(rule(1, 1, "get\nfine")),
    ];
    for raw in too_much {
        assert!(Description::read(raw).is_err());
    }
    let carries = |number: usize, bytes: usize| {
        let crds = vec!["x".repeat(bytes); number];
        Description::read(types::Description {
            crds,
            ..description(rule(1, 1, "get"))
        })
    };
    assert!(carries(64, 16 << 10).is_ok_and(|read| read.crds.len() == 64));
    assert!(carries(65, 1).is_err());
    assert!(carries(2, 600 << 10).is_err());
}

/// A description, and each of its texts in turn.
type Put = fn(&mut types::Description, &str);

const PUTS: [Put; 13] = [
    |raw, text| raw.name = text.into(),
    |raw, text| raw.version = text.into(),
    |raw, text| raw.primaries[0].api_version = text.into(),
    |raw, text| raw.primaries[0].kind = text.into(),
    |raw, text| raw.primaries[0].label_selector = Some(text.into()),
    |raw, text| raw.primaries[0].field_selector = Some(text.into()),
    |raw, text| raw.primaries[0].fields = vec![text.into()],
    |raw, text| raw.needs[0].api_groups = vec![text.into()],
    |raw, text| raw.needs[0].resources = vec![text.into()],
    |raw, text| raw.needs[0].resource_names = vec![text.into()],
    |raw, text| raw.needs[0].verbs = vec![text.into()],
    |raw, text| raw.needs[0].fields = vec![text.into()],
    |raw, text| raw.origins = vec![text.into()],
];

#[test]
fn no_text_of_a_description_holds_what_is_not_printable_ascii() {
    let allowed = [
        "my_plugin.v2",
        "1.4.2-rc.1+build_7",
        "x.dev/v1",
        "Thing",
        "app=web,tier!=db,env in (a, b),!legacy,cores>2",
        "metadata.name=a,spec.nodeName!=b",
        ".metadata.annotations['x.dev/y']",
        "x.dev",
        "things/status",
        "system:controller:job-controller",
        "deletecollection",
        ".spec.template",
        "https://[::1]:8443",
    ];
    for (put, text) in PUTS.iter().zip(allowed) {
        let mut raw = description(rule(1, 1, "get"));
        put(&mut raw, text);
        assert_eq!(bounds::check(&raw), Ok(()), "{text}");
        let low = '\u{0}'..'\u{3100}';
        let high = "\u{d7ff}\u{e000}\u{feff}\u{fffe}\u{1f642}\u{e0041}\u{10ffff}".chars();
        let strange = low
            .chain(high)
            .filter(|c| !c.is_ascii_graphic() && *c != ' ');
        for c in strange.chain("#\"`{}".chars()) {
            // A quote is a part of a field selector.
            let is_quote = c == '"' && raw.primaries[0].field_selector.is_some();
            put(&mut raw, &format!("x{c}y"));
            assert_eq!(bounds::check(&raw).is_err(), !is_quote, "{text}: {c:?}");
        }
    }
    let mut raw = description(rule(1, 1, "get"));
    raw.needs[0].resource_names = vec!["a\u{2028}b: c".into()];
    assert_eq!(
        Description::read(raw).unwrap_err(),
        "its resource name \"ab: c\" holds the character \\u{2028}: only letters and digits of ASCII and -._:@+~!$&'()*,;= are allowed there"
    );
}

#[test]
fn a_plural_is_what_the_needs_say_or_a_guess() {
    let watches = |resources: &[&str]| {
        let rule = types::Rule {
            resources: resources.iter().map(|&name| name.to_owned()).collect(),
            ..rule(1, 0, "watch")
        };
        Description::read(description(rule)).unwrap()
    };
    for (resources, want) in [
        (&["thingies", "thingies/status"][..], "thingies"),
        // Which of them it is, they do not say.
        (&["parts", "others"], "things"),
        (&["parts", "things"], "things"),
    ] {
        let described = watches(resources);
        let plural = described.likely_plural(&described.primaries[0]);
        assert_eq!(plural, want, "{resources:?}");
    }
}

#[test]
fn a_kind_is_named_once_and_the_plural_of_another_one_is_not_its_own() {
    let watch = |api_version: &str, kind: &str| types::Watch {
        api_version: api_version.into(),
        kind: kind.into(),
        ..description(rule(1, 1, "get")).primaries.remove(0)
    };
    let read = |primaries: Vec<types::Watch>, resources: &[&str]| {
        let rule = types::Rule {
            resources: resources.iter().map(|&name| name.to_owned()).collect(),
            ..rule(1, 0, "watch")
        };
        Description::read(types::Description {
            primaries,
            ..description(rule)
        })
    };
    let two = vec![watch("x.dev/v1", "Thing"), watch("x.dev/v1", "Mouse")];
    let described = read(two, &["mice", "things"]).unwrap();
    let plurals = described
        .primaries
        .iter()
        .map(|it| described.likely_plural(it));
    assert_eq!(plurals.collect::<Vec<_>>(), ["things", "mice"]);
    assert_eq!(described.kinds(), "Thing, Mouse");
    let elsewhere = vec![watch("x.dev/v1", "Thing"), watch("y.dev/v1", "Thing")];
    assert!(read(elsewhere, &[]).is_ok());
    let twice = vec![watch("x.dev/v1", "Thing"), watch("x.dev/v2", "Thing")];
    let error = read(twice, &[]).unwrap_err();
    assert!(error.contains("Thing of group \"x.dev\" twice"), "{error}");
    assert!(read(Vec::new(), &[]).unwrap_err().contains("no primary"));
    let many = (0..33).map(|number| watch("x.dev/v1", &format!("K{number}")));
    assert!(
        read(many.collect(), &[])
            .unwrap_err()
            .contains("32 is the most")
    );
}
