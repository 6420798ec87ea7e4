//! Scalars, keys and documents, as kubectl reads them.

use serde_json::json;

use super::*;

/// What kubectl 1.36 makes of each: `kubectl create --dry-run=client -o json`.
#[test]
fn scalars_are_read_as_kubernetes_reads_them() {
    let cases = [
        ("0400", json!(256)),
        ("0644", json!(420)),
        ("+0400", json!(256)),
        ("-0400", json!(-256)),
        ("0o644", json!(420)),
        ("0O644", json!(420)),
        ("0x1F", json!(31)),
        ("0X1f", json!(31)),
        ("-0x1F", json!(-31)),
        ("0b101", json!(5)),
        ("0899", json!(899)),
        ("08", json!(8)),
        ("00", json!(0)),
        ("0", json!(0)),
        ("-0", json!(0)),
        ("1_000", json!(1000)),
        ("0x1_F", json!(31)),
        ("04_00", json!(256)),
        ("+1", json!(1)),
        ("1.0", json!(1)),
        ("1e3", json!(1000)),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
        ("0.50", json!(0.5)),
        ("9223372036854775807", json!(i64::MAX)),
        // What Go keeps of a larger number is a float.
        ("9223372036854775808", json!(9_223_372_036_854_776_000_u64)),
        (
            "12345678901234567890",
            json!(12_345_678_901_234_567_000_u64),
        ),
        ("0xFFFFFFFFFFFFFFFF", json!(1.844_674_407_370_955_2e19)),
        ("y", json!(true)),
        ("Y", json!(true)),
        ("yes", json!(true)),
        ("Yes", json!(true)),
        ("on", json!(true)),
        ("ON", json!(true)),
        ("true", json!(true)),
        ("n", json!(false)),
        ("no", json!(false)),
        ("NO", json!(false)),
        ("off", json!(false)),
        ("Off", json!(false)),
        ("False", json!(false)),
        ("~", json!(null)),
        ("null", json!(null)),
        ("NULL", json!(null)),
        ("", json!(null)),
        // These are text.
        ("'0400'", json!("0400")),
        ("\"yes\"", json!("yes")),
        ("!!str 0400", json!("0400")),
        ("0o9", json!("0o9")),
        ("_1", json!("_1")),
        ("1:30", json!("1:30")),
        ("1.2.3", json!("1.2.3")),
        ("2026-11-21", json!("2026-11-21")),
        ("2026-11-21T09:30:00Z", json!("2026-11-21T09:30:00Z")),
        (".", json!(".")),
        ("nan", json!("nan")),
        ("yess", json!("yess")),
    ];
    for (text, want) in cases {
        let text = format!("v: {text}\nl: [a]\n");
        let Untyped(read) = document(&text).unwrap();
        assert_eq!(read["v"], want, "{text}");
    }
}

#[test]
fn keys_are_what_json_has_for_them() {
    let text =
        "{y: 1, no: 2, 0400: 3, 1_000: 4, 'on': 5, \"0644\": 6, name: 7, 1.5: 8, 2026-01-02: 9}";
    let want = json!({
        "true": 1, "false": 2, "256": 3, "1000": 4, "on": 5, "0644": 6, "name": 7, "1.5": 8,
        "2026-01-02": 9,
    });
    assert_eq!(document::<Untyped>(text).unwrap().0, want);
    assert!(document::<Untyped>("? [a]\n: b").is_err());
}

/// What kubectl 1.36 makes of each: a merge key replaces what stands before it, and what stands after replaces it.
#[test]
fn merge_keys_are_read_in_their_order() {
    let cases = [
        ("x: &x {a: 1}\nz: {a: 2, <<: *x}\n", json!({ "a": 1 })),
        ("x: &x {a: 1}\nz: {<<: *x, a: 2}\n", json!({ "a": 2 })),
        (
            "x: &x {a: 1, b: 3}\nz: {b: 2, <<: [*x, {a: 4}]}\n",
            json!({ "a": 1, "b": 3 }),
        ),
    ];
    for (text, want) in cases {
        assert_eq!(values(text).unwrap()[0]["z"], want, "{text}");
    }
    let error = values("z: {<<: a, b: 2}\n").unwrap_err().to_string();
    assert!(
        error.contains("map merge requires map or sequence of maps as the value"),
        "{error}"
    );
}

#[test]
fn a_file_of_many_objects_is_read_whole() {
    let long = format!("items:\n{}", "- a\n".repeat(300_000));
    let Untyped(read) = document(&long).unwrap();
    assert_eq!(read["items"].as_array().unwrap().len(), 300_000);
    let many = "a: 1\n---\n".repeat(2_000);
    assert_eq!(documents::<Untyped>(&many).unwrap().len(), 2_000);
}

#[test]
fn aliases_that_come_to_too_much_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(document::<Untyped>(&bomb).is_err());
}

#[test]
fn a_field_without_a_type_is_read_the_same_way() {
    #[derive(Deserialize)]
    struct Holder {
        mode: u32,
        word: String,
        #[serde(deserialize_with = "untyped")]
        objects: Vec<Value>,
    }
    let text = "mode: 0400\nword: no\nobjects: [{y: 0400, a: [1.0]}]\n---\n---\nmode: 1\nword: a\nobjects: []\n";
    let read: Vec<Holder> = documents(text).unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!((read[0].mode, &*read[0].word), (256, "no"));
    assert_eq!(read[0].objects, [json!({ "true": 256, "a": [1] })]);
}
