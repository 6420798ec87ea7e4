//! YAML that commands print, as its readers take it: the real kubectl, and libyaml. Both read YAML 1.1, in which more characters end
//! a line than in YAML 1.2.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Deserializer, Value, json};
use windlass_controlplane::Assets;
use windlass_e2e::host_binary;
use windlass_harness::guest;
use windlass_policy::grants::{Grant, block};
use windlass_yaml::{Untyped, comment, scalar};

/// The documents in `yaml`, as kubectl reads them: each is an object.
fn kubectl_reads(yaml: &str) -> Result<Vec<Value>> {
    // It changes nothing: each object has this annotation before.
    let mut kubectl = Command::new(&Assets::find()?.kubectl)
        .args([
            "annotate",
            "--local",
            "--overwrite",
            "-f",
            "-",
            "-o",
            "json",
        ])
        .arg("read=yes")
        .env("KUBECONFIG", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = kubectl.stdin.take().context("kubectl reads")?;
    let text = yaml.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = kubectl.wait_with_output()?;
    writer.join().ok().context("the writer has ended")??;
    ensure!(output.status.success(), "kubectl does not read {yaml:.400}");
    let objects: Result<Vec<Value>, _> = Deserializer::from_slice(&output.stdout)
        .into_iter()
        .collect();
    let mut objects = objects?;
    for object in &mut objects {
        let metadata = object["metadata"].as_object_mut();
        metadata
            .context("an object has metadata")?
            .remove("annotations");
    }
    Ok(objects)
}

/// The documents in `yaml`, as libyaml reads them.
fn libyaml_reads(yaml: &str) -> Result<Vec<Value>> {
    let documents = serde_yaml_ng::Deserializer::from_str(yaml);
    let documents: Result<Vec<Option<Value>>, _> = documents.map(Option::deserialize).collect();
    Ok(documents?.into_iter().flatten().collect())
}

/// The documents in `yaml`: all readers agree on them.
fn read(yaml: &str) -> Result<Vec<Value>> {
    let own: Vec<Untyped> = windlass_yaml::documents(yaml)?;
    let own: Vec<Value> = own.into_iter().map(|Untyped(value)| value).collect();
    ensure!(own == kubectl_reads(yaml)?, "kubectl reads something else");
    ensure!(own == libyaml_reads(yaml)?, "libyaml reads something else");
    Ok(own)
}

/// Every character there is, in words.
fn words() -> Vec<String> {
    let every: Vec<char> = ('\u{0}'..=char::MAX).collect();
    let words = every.chunks(2048).map(|some| some.iter().collect());
    // What YAML 1.1 takes for something else than text.
    let odd =
        "yes on y n ~ null 0400 0x1f 1e3 12:30 2001-01-01 .inf = << - ? : # & * ! | > ' \" % @ `";
    words.chain(odd.split(' ').map(str::to_owned)).collect()
}

#[test]
fn no_character_of_a_word_or_of_a_comment_is_taken_for_yaml() -> Result<()> {
    let words = words();
    let mut yaml = "kind: List\napiVersion: v1\nmetadata: { name: x }\nwords:\n".to_owned();
    for word in &words {
        yaml.push_str(&format!("# {}\n- {}\n", comment(word), scalar(word)));
    }
    // As a list, kubectl would look for its items.
    let yaml = yaml.replacen("kind: List", "kind: Words", 1);
    let read = read(&yaml)?;
    ensure!(
        read.len() == 1 && read[0]["words"] == json!(words),
        "other words"
    );
    Ok(())
}

#[test]
fn grants_are_read_as_they_are_meant() -> Result<()> {
    let words = words();
    let grant = json!({
        "apiGroups": [""], "resources": ["secrets", "configmaps"], "resourceNames": words,
        "verbs": ["get"], "namespaces": ["a\u{2028}b", "on"],
    });
    let grant: Grant = serde_json::from_value(grant)?;
    let head = "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: { name: x }\nspec:\n  grants:\n";
    let read = read(&format!("{head}{}", block([&grant], 4)))?;
    let want = json!([{
        "apiGroups": [""], "resources": ["secrets", "configmaps"], "resourceNames": words,
        "verbs": ["get"], "namespaces": ["a\u{2028}b", "on"],
    }]);
    ensure!(
        read.len() == 1 && read[0]["spec"]["grants"] == want,
        "other grants"
    );
    Ok(())
}

/// What the command prints.
fn printed(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(host_binary()?)
        .args(arguments)
        .current_dir(folder)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{arguments:?}: {said}");
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn manifest_and_rbac_print_the_same_for_every_reader() -> Result<()> {
    let home = tempfile::tempdir()?;
    // A name that ends a line.
    let file = "a\u{2028}spec: {}\u{85}b.wasm";
    std::fs::copy(guest("selective")?, home.path().join(file))?;
    let document = printed(home.path(), &["manifest", file, "--name", "x"])?;
    let objects = read(&document)?;
    let [plugin] = objects.as_slice() else {
        anyhow::bail!("{document}")
    };
    assert_eq!(plugin["metadata"]["name"], "x");
    assert_eq!(plugin["spec"]["source"]["file"], file);
    // A folder with it gives roles.
    let folder = home.path().join("a\u{2028}kind: Secret");
    std::fs::create_dir(&folder)?;
    std::fs::copy(home.path().join(file), folder.join(file))?;
    let more = block(
        [&serde_json::from_value::<Grant>(json!({
            "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"],
            "resourceNames": ["a\u{2028}b: c", "é\u{85}", "on"], "namespaces": "all",
        }))?],
        4,
    );
    std::fs::write(folder.join("x.yaml"), format!("{document}{more}"))?;
    let arguments = ["rbac", "--config", "a\u{2028}kind: Secret"];
    let roles = read(&printed(home.path(), &arguments)?)?;
    let json = printed(home.path(), &[&arguments[..], &["-o", "json"]].concat())?;
    let json: Value = serde_json::from_str(&json)?;
    assert_eq!(json["items"], Value::from(roles));
    Ok(())
}
