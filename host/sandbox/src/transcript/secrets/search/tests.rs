use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::*;

fn search(values: &[&[u8]]) -> Search {
    let mut forms = Forms::default();
    values.iter().for_each(|value| forms.add(value));
    Search::new(&forms)
}

/// In base64 this has `+` and `/`, or `-` and `_`.
const TOKEN: &str = "tok~n?>k>>>??";

#[test]
fn a_value_is_found_in_each_form() {
    let found = search(&[TOKEN.as_bytes(), b"a-b.pem\nline of it\nother line\n"]);
    let user = |user: &str| format!("{user}:{TOKEN}");
    let rows = [
        (TOKEN.to_owned(), "hidden"),
        (format!("x{TOKEN}x"), "xhiddenx"),
        (format!("{TOKEN}{TOKEN}"), "hiddenhidden"),
        (STANDARD.encode(TOKEN), "aGlkZGVu"),
        (STANDARD_NO_PAD.encode(TOKEN), "aGlkZGVu"),
        (URL_SAFE.encode(TOKEN), "aGlkZGVu"),
        (URL_SAFE_NO_PAD.encode(TOKEN), "aGlkZGVu"),
        (
            format!("Basic {}", STANDARD.encode(user("u"))),
            "Basic aGlkZGVu",
        ),
        (
            format!("Basic {}", STANDARD.encode(user("me"))),
            "Basic aGlkZGVu",
        ),
        (
            format!("Basic {}, x", URL_SAFE_NO_PAD.encode(user("you"))),
            "Basic aGlkZGVu, x",
        ),
        (
            format!("q={}&p=1", URL_SAFE.encode(user("robot"))),
            "q=aGlkZGVu&p=1",
        ),
        (
            format!(r#"{{"auth":"{}"}}"#, STANDARD.encode(user(""))),
            r#"{"auth":"aGlkZGVu"}"#,
        ),
        (
            format!("twice {}", STANDARD.encode(STANDARD.encode(user("me")))),
            "twice aGlkZGVu",
        ),
        (format!("bad line: {}", "line of it"), "bad line: hidden"),
        (format!("{:?}", "other line"), "\"hidden\""),
        (
            "nothing of it: tok~n and line".to_owned(),
            "nothing of it: tok~n and line",
        ),
    ];
    for (text, want) in rows {
        assert_eq!(found.replace(&text), want, "{text}");
    }
    // Base64 of mail and certificates has lines.
    let long = format!("{}{TOKEN}{}", "before ".repeat(20), " after".repeat(20));
    let encoded = STANDARD.encode(&long);
    let lines: Vec<&str> = encoded
        .as_bytes()
        .chunks(76)
        .map(|line| str::from_utf8(line).unwrap())
        .collect();
    for end in ["\n", "\r\n"] {
        let text = format!("mail:{end}{end}{}{end}.", lines.join(end));
        assert_eq!(
            found.replace(&text),
            format!("mail:{end}{end}aGlkZGVu{end}.")
        );
    }
}

#[test]
fn a_value_is_found_at_each_place_in_base64() {
    let found = search(&[b"word", b"\xff\xfe\xfd\xfc\xfb"]);
    for value in [b"word".as_slice(), b"\xff\xfe\xfd\xfc\xfb"] {
        for before in 0..7 {
            for after in 0..4 {
                let whole = [&vec![b'.'; before], value, &vec![b'.'; after]].concat();
                for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
                    let text = engine.encode(&whole);
                    assert_eq!(found.replace(&text), "aGlkZGVu", "{text}");
                    assert_eq!(found.replace(&format!("({text})")), "(aGlkZGVu)", "{text}");
                }
            }
        }
    }
}

#[test]
fn a_short_value_is_found_where_it_stands_alone() {
    let found = search(&[b"abc"]);
    for (text, want) in [
        ("abc", "hidden"),
        ("YWJj", "aGlkZGVu"),
        ("abcd", "abcd"),
        ("x abc", "x abc"),
    ] {
        assert_eq!(found.replace(text), want);
    }
    assert_eq!(search(&[b"/"]).replace("Lw=="), "aGlkZGVu");
    assert_eq!(search(&[b"/"]).replace("a/b"), "a/b");
}

#[test]
fn a_short_word_is_found_where_no_letter_is_beside_it() {
    let found = search(&[b"port", b"1234", b"hunter2", b"default", b"portable"]);
    let rows = [
        ("port", "hidden"),
        ("a port, and", "a hidden, and"),
        ("PORT_port=port;", "PORT_hidden=hidden;"),
        ("support ports", "support ports"),
        ("portable", "hidden"),
        ("xportablex", "xhiddenx"),
        (r"a\nport\n", r"a\nhidden\n"),
        ("a%3Dport", "a%3Dhidden"),
        ("pin 1234.", "pin hidden."),
        ("51234", "51234"),
        ("xhunter2x", "xhiddenx"),
        ("default", "default"),
        ("ZGVmYXVsdA==", "ZGVmYXVsdA=="),
        ("cG9ydA==", "aGlkZGVu"),
        ("portport", "portport"),
    ];
    for (text, want) in rows {
        assert_eq!(found.replace(text), want, "{text}");
    }
}

#[test]
fn what_nobody_sees_does_not_split_a_value() {
    let found = search(&[
        b"hunter2",
        b"one\r\ntwo\r\nsix",
        "a\u{200b}bcdef".as_bytes(),
    ]);
    let rows = [
        ("it is hun\u{200b}ter2", "it is hidden"),
        ("it is hun\rter2", "it is hidden"),
        ("aHVud\u{feff}GVyMg==", "aGlkZGVu"),
        ("one\r\ntwo\r\nsix", "hidden"),
        ("> one\r\ntwo\r\nsix", "> hidden"),
        ("> one\ntwo\nsix", "> hidden"),
        ("> abcdef", "> hidden"),
        ("no\u{200b}thing\r\n", "no\u{200b}thing\r\n"),
    ];
    for (text, want) in rows {
        assert_eq!(found.replace(text), want, "{text:?}");
    }
}

#[test]
fn of_pem_the_body_is_hidden_and_its_boundary_lines_are_not() {
    let pem =
        |body: &str| format!("-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n");
    let found = search(&[pem("MIIEvQIBADAN\nAQ==\n").as_bytes()]);
    let rows = [
        (pem("MIIEvQIBADAN\nAQ==\n"), "hidden".to_owned()),
        (
            format!("key {}", pem("MIIEvQIBADAN\nAQ==\n")),
            format!("key {}", pem("hidden\n")),
        ),
        (
            format!("key {}", pem("other\n")),
            format!("key {}", pem("other\n")),
        ),
        (
            STANDARD.encode(format!(" {}", pem("MIIEvQIBADAN\nAQ==\n"))),
            "aGlkZGVu".to_owned(),
        ),
    ];
    for (text, want) in rows {
        assert_eq!(found.replace(&text), want, "{text}");
    }
}

#[test]
fn what_was_cut_is_found_too_and_of_two_values_the_longer_one() {
    let long = "0123456789".repeat(10);
    let found = search(&[long.as_bytes(), b"01234567", b"0123456789-and-more"]);
    let rows = [
        (long.clone(), "hidden".to_owned()),
        (format!("cut {}", &long[..60]), "cut hidden".to_owned()),
        (format!("cut {}", &long[..NEEDLE]), "cut hidden".to_owned()),
        (format!("{} other", &long[..60]), "hidden other".to_owned()),
        ("0123456789-and-more".to_owned(), "hidden".to_owned()),
        (format!("{}-and-more", &long[..10]), "hidden".to_owned()),
        ("01234567x".to_owned(), "hiddenx".to_owned()),
        (format!("é{long}é"), "éhiddené".to_owned()),
    ];
    for (text, want) in rows {
        assert_eq!(found.replace(&text), want, "{text}");
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced_by_whole_letters() {
    // The second half of one letter and the first of the next.
    let found = search(&[&"éé".as_bytes()[1..3], &[0xa9, 0xc3, 0xa9, 0xc3]]);
    assert_eq!(found.replace("aéééb"), "ahiddenb");
}

/// How many bytes are compared is what counts: none of these may take more than a moment.
#[test]
fn a_large_value_costs_no_more_than_its_length() {
    let large = "a".repeat(1 << 20);
    let twins: Vec<String> = (0..500)
        .map(|twin| format!("{}{twin}", "a".repeat(1000)))
        .collect();
    let mut values: Vec<&[u8]> = twins.iter().map(String::as_bytes).collect();
    values.push(large.as_bytes());
    let found = search(&values);
    assert_eq!(found.replace(&large), "hidden");
    assert_eq!(found.replace(&large.repeat(8)), "hidden".repeat(8));
    assert_eq!(found.replace(&format!("b{large}b")), "bhiddenb");
    let mut visits = 0;
    found.plain(large.repeat(2).as_bytes(), |_| {
        visits += 1;
        true
    });
    assert_eq!(visits, 2, "each is one step");
}
