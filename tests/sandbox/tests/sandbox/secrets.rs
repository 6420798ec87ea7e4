//! What a guest tells of a Secret that it has read.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::json;
use windlass_policy::grants::Grants;
use windlass_sandbox_tests::api_server::SentRequest;
use windlass_sandbox_tests::{House, logs};

use crate::common::{AMPLE, api_server, terminal, wasm};

/// It has all letters of base64's two alphabets when it is encoded.
const TOKEN: &str = "tok~n?>k>>>??";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_people_are_shown_tells_what_a_secret_holds() {
    logs::keep();
    let user = format!("robot:{TOKEN}");
    let telling = [
        (TOKEN.to_owned(), "hidden"),
        (STANDARD.encode(TOKEN), "aGlkZGVu"),
        (STANDARD_NO_PAD.encode(&user), "aGlkZGVu"),
        (URL_SAFE_NO_PAD.encode(format!("x{user}")), "aGlkZGVu"),
        (format!(r#"{{"token":"{TOKEN}"}}"#), r#"{"token":"hidden"}"#),
        ("another-line".to_owned(), "hidden"),
        ("pa55word".to_owned(), "hidden"),
    ];
    let texts: Vec<&str> = telling.iter().map(|(text, _)| &**text).collect();
    let api = api_server(&["tell-secret"]);
    let values = json!({
        "json": format!(r#"{{"in":[{{"token":"{TOKEN}"}}]}}"#),
        "dotenv": "PASSWORD=pa55word\nanother-line\n",
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "tell-secret-secret", "namespace": "default" },
        "data": {
            "json": STANDARD.encode(values["json"].as_str().unwrap()),
            "dotenv": STANDARD.encode(values["dotenv"].as_str().unwrap()),
        },
    });
    api.give(&secret).unwrap();
    let house = House::on_threads(api, 1).unwrap();
    let config = json!({ "attack": "tell_secret", "texts": texts });
    let plugin = house.load("hostile", wasm("hostile"), &config, AMPLE).await;
    let grants = json!([
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings"],
          "verbs": ["get", "list", "watch"], "namespaces": "all" },
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "acknowledge": ["secrets/get"] },
    ]);
    let grants = Grants::new(serde_json::from_value(grants).unwrap()).unwrap();
    let tenant = house.admit(plugin.unwrap(), grants).await.unwrap();
    let called = tenant.reconcile("default", "tell-secret").await.unwrap();

    let want: Vec<&str> = telling.iter().map(|(_, want)| *want).collect();
    assert_eq!(terminal(&called), format!("failed {}", want.join(" | ")));
    let printed: String = want
        .iter()
        .map(|want| format!("> printed: {want}\n"))
        .collect();
    assert_eq!(called.output, printed);
    let lines = logs::about("Greeting/default/tell-secret");
    let logged: Vec<&str> = lines.iter().map(|line| &*line.message).collect();
    let wanted: Vec<String> = want.iter().map(|want| format!("logged {want}")).collect();
    assert_eq!(logged, wanted);
    let fields: Vec<&str> = lines.iter().map(|line| &*line.fields).collect();
    let wanted: Vec<String> = want.iter().map(|want| format!("told={want:?}")).collect();
    assert_eq!(fields, wanted);
    let noted = async {
        while house.api.events().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let noted = tokio::time::timeout(Duration::from_secs(30), noted).await;
    assert!(noted.is_ok(), "there is an Event");
    let events = serde_json::to_string(&house.api.events()).unwrap();
    assert!(events.contains("noted hidden"), "{events}");
    for SentRequest { line, body } in house.api.requests() {
        let body = String::from_utf8_lossy(&body);
        let told = texts.iter().find(|text| body.contains(**text));
        assert_eq!(told, None, "{line} {body}");
    }
}
