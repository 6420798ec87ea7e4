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
        }],
        needs: vec![rule],
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
        assert_eq!(watches(resources).likely_plural(), want, "{resources:?}");
    }
}
