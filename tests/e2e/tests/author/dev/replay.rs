//! A failed pass is recorded, and made again: `windlass replay`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_e2e::variant::patched;
use windlass_e2e::{Dev, windlass_alone, workspace};
use windlass_harness::guest;

use super::{COMPILER, project};

/// Replays with the shared code cache.
fn replay(recording: &Path, arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let code = workspace().join("target/code-cache");
    let code = code.to_str().context("a path is text")?;
    let recording = recording.to_str().context("a path is text")?;
    let first = ["replay", recording, "--code-cache", code];
    let Output {
        status,
        stdout,
        stderr,
    } = windlass_alone(&[&first, arguments].concat())?;
    let said = String::from_utf8(stdout)? + &String::from_utf8(stderr)?;
    Ok((status.code(), said))
}

/// Runs a project until everything is settled; the recordings that the passes left, as they were told.
async fn failed(folder: &Path) -> Result<Vec<PathBuf>> {
    let dev = Dev::start(folder, &["--once"])?;
    assert_eq!(dev.ended().await?.code(), Some(1), "{}", dev.errors());
    let events = dev.events();
    let told = events
        .iter()
        .filter_map(|event| event["recording"].as_str());
    let mut told: Vec<PathBuf> = told.map(|path| folder.join(path)).collect();
    told.dedup();
    Ok(told)
}

/// A project of the relay that traps after its first write.
fn trapping() -> Result<TempDir> {
    let home = project(COMPILER)?;
    let path = home.path().join("plugin.yaml");
    let document = fs::read_to_string(&path)?;
    let document = document.replace("spec:\n", "spec:\n  config: { fault: trap }\n");
    fs::write(path, document)?;
    Ok(home)
}

#[tokio::test]
async fn a_failed_pass_is_recorded_and_made_again() -> Result<()> {
    let home = trapping()?;
    let folder = home.path();
    let told = failed(folder).await?;
    let own = folder.join(".windlass/failures/relay");
    assert_eq!(told, [own.join("ada-1.json")]);
    let [recording] = &told[..] else {
        anyhow::bail!("there is one recording");
    };
    // Wherever it is kept, it needs no cluster and no project.
    let (code, said) = replay(recording, &[])?;
    let same =
        "same: 1 write, then plugin trapped: wasm trap: wasm `unreachable` instruction executed\n";
    ensure!(code == Some(0) && said.contains(same), "{said}");
    ensure!(said.contains("this version is made to trap"), "{said}");
    let (code, said) = replay(recording, &["-o", "json"])?;
    let answer: Value = serde_json::from_str(&said)?;
    ensure!(code == Some(0) && answer["same"] == true, "{said}");
    // Another component decides otherwise, and then goes on: its write is answered as if it were made.
    let other = folder.join("other.wasm");
    fs::write(&other, patched(2)?)?;
    let other = other.to_str().context("a path is text")?;
    let (code, said) = replay(recording, &["--with", other])?;
    let differs = said.contains("-         text: b0001 v0 Ada")
        && said.contains("+         text: b0002 v0 Ada");
    ensure!(code == Some(1) && differs, "{said}");
    // The project as it is now: the same source, which is built.
    let project = folder.to_str().context("a path is text")?;
    let (code, said) = replay(recording, &["--with", project])?;
    ensure!(code == Some(0) && said.contains("same: "), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_pass_is_made_again_with_another_configuration() -> Result<()> {
    let home = trapping()?;
    let told = failed(home.path()).await?;
    let recording = told.first().context("there is a recording")?;
    let path = home.path().join("plugin.yaml");
    let config = path.to_str().context("a path is text")?;
    let (code, said) = replay(recording, &["--config", config])?;
    ensure!(
        code == Some(0) && said.contains("same: ") && !said.contains("another configuration"),
        "{said}"
    );
    let document = fs::read_to_string(&path)?;
    fs::write(&path, document.replace("fault: trap", "version: v2"))?;
    let (code, said) = replay(recording, &["--config", config])?;
    ensure!(
        code == Some(1) && said.contains("with another configuration") && said.contains("v2 Ada"),
        "{said}"
    );
    fs::write(&path, format!("{document}---\n{document}"))?;
    let (code, said) = replay(recording, &["--config", config])?;
    ensure!(
        code == Some(2) && said.contains("one Plugin document"),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn what_is_no_recording_is_said_to_be_none() -> Result<()> {
    let home = trapping()?;
    let told = failed(home.path()).await?;
    let text = fs::read_to_string(told.first().context("there is a recording")?)?;
    let with = guest("relay")?;
    let with = with.to_str().context("a path is text")?;
    let elsewhere = home.path().join("moved.json");
    let cases = [
        (text.clone(), None, "is not beside"),
        (
            text.replace("v1alpha1", "v9"),
            Some(with),
            "holds a Recording of windlass.dev/v9; this windlass plays",
        ),
        (
            text.replace("\"attempt\"", "\"attempts\""),
            Some(with),
            "unknown field `attempts`",
        ),
        (
            text.replace("\"seed\": \"", "\"seed\": \"x"),
            Some(with),
            "seed is not 64 hexadecimal digits",
        ),
        ("{".to_owned(), Some(with), "is not a recording of a pass"),
    ];
    for (content, with, word) in cases {
        fs::write(&elsewhere, content)?;
        let with: Vec<&str> = with
            .map(|with| ["--with", with])
            .into_iter()
            .flatten()
            .collect();
        let (code, said) = replay(&elsewhere, &with)?;
        ensure!(code == Some(2) && said.contains(word), "{word}: {said}");
    }
    let own = home.path().join(".windlass/failures/relay/.components");
    for entry in fs::read_dir(own)? {
        fs::write(entry?.path(), b"changed")?;
    }
    let (code, said) = replay(&told[0], &[])?;
    ensure!(
        code == Some(2) && said.contains("the file has changed since the recording"),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn a_recording_holds_nothing_of_a_secret() -> Result<()> {
    let home = tempfile::tempdir()?;
    let folder = home.path();
    for file in ["greeting.crd.yaml", "example.yaml"] {
        fs::copy(
            workspace().join("plugins/greeter").join(file),
            folder.join(file),
        )?;
    }
    fs::copy(guest("hostile")?, folder.join("hostile.wasm"))?;
    // It writes a Secret whose value is `value`, and fails.
    let document = "apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: { name: hostile }
spec:
  source: { file: hostile.wasm }
  config: { attack: write_secret }
  grants:
    - { apiGroups: [examples.windlass.dev], resources: [greetings, greetings/status], verbs: [get, list, watch, patch], namespaces: all }
    - { apiGroups: [\"\"], resources: [configmaps], verbs: [get, list, watch] }
    - { apiGroups: [\"\"], resources: [secrets], verbs: [get, create, patch], acknowledge: [secrets/get, secrets/create, secrets/patch] }
";
    fs::write(folder.join("plugin.yaml"), document)?;
    let told = failed(folder).await?;
    let recording = told.first().context("there is a recording")?;
    let text = fs::read_to_string(recording)?;
    ensure!(
        text.contains("\"kind\": \"Secret\"") && text.contains("answer: accepted"),
        "{text}"
    );
    ensure!(
        !text.contains("\"value\"") && !text.contains("dmFsdWU="),
        "{text}"
    );
    ensure!(text.contains("\"hiddenValues\": 1"), "{text}");
    // It makes the value again, and that is hidden again.
    let (code, said) = replay(recording, &[])?;
    ensure!(
        code == Some(0) && said.contains("a terminal failure: answer: accepted"),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn a_recording_holds_nothing_of_a_secret_that_was_read() -> Result<()> {
    let token = "tok~n?>k>>>??";
    let user = format!("robot:{token}");
    let forms = [
        token.to_owned(),
        STANDARD.encode(token),
        STANDARD_NO_PAD.encode(token),
        URL_SAFE.encode(token),
        URL_SAFE_NO_PAD.encode(token),
        STANDARD.encode(&user),
        STANDARD_NO_PAD.encode(format!("x{user}")),
        URL_SAFE_NO_PAD.encode(format!("xx{user}")),
        STANDARD.encode(format!(r#"{{"token":"{token}"}}"#)),
        "pa55word".to_owned(),
        STANDARD.encode("PASSWORD=pa55word"),
        "a-line-of-it".to_owned(),
    ];
    let home = tempfile::tempdir()?;
    let folder = home.path();
    let greeter = workspace().join("plugins/greeter");
    fs::copy(
        greeter.join("greeting.crd.yaml"),
        folder.join("greeting.crd.yaml"),
    )?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "ada-secret", "namespace": "default" },
        "stringData": {
            "json": format!(r#"{{"in":[{{"token":"{token}"}}]}}"#),
            "dotenv": "PASSWORD=pa55word\na-line-of-it\n",
        },
    });
    let example = fs::read_to_string(greeter.join("example.yaml"))?;
    fs::write(
        folder.join("example.yaml"),
        format!("{secret}\n---\n{example}"),
    )?;
    fs::copy(guest("hostile")?, folder.join("hostile.wasm"))?;
    let document = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin", "metadata": { "name": "hostile" },
        "spec": {
            "source": { "file": "hostile.wasm" },
            "config": { "attack": "tell_secret", "texts": forms },
            "grants": [
                { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings"],
                  "verbs": ["get", "list", "watch"], "namespaces": "all" },
                { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "acknowledge": ["secrets/get"] },
            ],
        },
    });
    fs::write(folder.join("plugin.yaml"), document.to_string())?;
    let dev = Dev::start(folder, &["--once"])?;
    assert_eq!(dev.ended().await?.code(), Some(1), "{}", dev.errors());
    let said = serde_json::to_string(&dev.events())? + &dev.errors();
    let recording = folder.join(".windlass/failures/hostile/ada-1.json");
    let recorded = fs::read_to_string(&recording).with_context(|| said.clone())?;
    ensure!(recorded.contains("\"hiddenValues\": 2"), "{recorded}");
    ensure!(recorded.contains("noted hidden"), "{recorded}");
    ensure!(said.contains("failed hidden | aGlkZGVu"), "{said}");
    for form in &forms {
        ensure!(!recorded.contains(form), "{form} in {recorded}");
        ensure!(!said.contains(form), "{form} in {said}");
    }
    // It is answered with the words, and ends as it did.
    let (code, said) = replay(&recording, &[])?;
    ensure!(code == Some(0) && said.contains("failed hidden"), "{said}");
    Ok(())
}
