//! What the Go structs behind the types say and OpenAPI does not: which fields are pointers, which stay
//! away when empty, and the numbers of fields in protobuf.
//!
//! A line for each type: its name, a tab, and its fields in Go's order, `name,flags,number,type` each. The
//! flags: `o` for omitempty, `z` for omitzero. The number of a field of an embedded struct is a path, such
//! as `2.1`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

const MODULES: [&str; 4] = [
    "k8s.io/api",
    "k8s.io/apiextensions-apiserver",
    "k8s.io/apimachinery",
    "k8s.io/kube-aggregator",
];

/// The number of what protobuf has elsewhere: kind and version.
const NOT_SENT: &str = "-";

/// Reads the Go structs of these types, in the versions of the control plane's `go.mod`.
pub(crate) fn capture<'a>(types: impl Iterator<Item = &'a str>) -> anyhow::Result<String> {
    let mut sources = Sources {
        modules: MODULES
            .iter()
            .map(|name| module(name))
            .collect::<Result<_, _>>()?,
        packages: BTreeMap::new(),
    };
    let mut lines = String::new();
    for name in types {
        let Some((package, local)) = go_name(name) else {
            continue;
        };
        let fields = sources.fields(&package, local, "")?;
        if !fields.is_empty() {
            let _ = writeln!(lines, "{name}\t{}", fields.join(" "));
        }
    }
    Ok(lines)
}

/// The folder with the source of a module.
fn module(name: &str) -> anyhow::Result<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../controlplane");
    let output = Command::new("go")
        .current_dir(folder)
        .env("GOTOOLCHAIN", "local")
        .env_remove("GOFLAGS")
        .args(["mod", "download", "-json", name])
        .output()
        .context("cannot run `go`")?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let folder = answer["Dir"].as_str();
    let folder = folder.with_context(|| format!("{name} is not there: {answer}"))?;
    Ok((name.to_owned(), PathBuf::from(folder)))
}

/// `io.k8s.api.core.v1.Pod` is `Pod` of `k8s.io/api/core/v1`.
fn go_name(type_name: &str) -> Option<(String, &str)> {
    let (package, local) = type_name.strip_prefix("io.k8s.")?.rsplit_once('.')?;
    Some((format!("k8s.io/{}", package.replace('.', "/")), local))
}

/// A struct as it stands in the source.
#[derive(Clone, Debug, Default)]
struct Struct {
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    /// Empty for an embedded struct whose fields are taken for the outer one's.
    json: String,
    flags: String,
    number: String,
    go: String,
}

/// The structs of a package, and what its imports are called.
#[derive(Debug, Default)]
struct Package {
    structs: BTreeMap<String, Struct>,
    imports: BTreeMap<String, String>,
}

struct Sources {
    modules: Vec<(String, PathBuf)>,
    packages: BTreeMap<String, Package>,
}

impl Sources {
    fn package(&mut self, path: &str) -> anyhow::Result<&Package> {
        if !self.packages.contains_key(path) {
            let package = self.read(path)?;
            self.packages.insert(path.to_owned(), package);
        }
        self.packages.get(path).context("no package")
    }

    fn read(&self, path: &str) -> anyhow::Result<Package> {
        let mut modules = self.modules.iter();
        let folder = modules.find_map(|(name, folder)| {
            let rest = path.strip_prefix(name.as_str())?;
            Some(folder.join(rest.strip_prefix('/')?))
        });
        let folder = folder.with_context(|| format!("{path} is in no module"))?;
        let mut package = Package::default();
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))?
        {
            let file = entry?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let is_source = name.ends_with(".go")
                && !name.ends_with("_test.go")
                && !name.starts_with("zz_generated")
                && name != "generated.pb.go";
            if is_source {
                package.read(&std::fs::read_to_string(&file)?);
            }
        }
        Ok(package)
    }

    /// The fields of a struct, those of embedded structs among them; `prefix` is the path of its number.
    fn fields(&mut self, path: &str, name: &str, prefix: &str) -> anyhow::Result<Vec<String>> {
        let package = self.package(path)?;
        let Some(found) = package.structs.get(name).cloned() else {
            return Ok(Vec::new());
        };
        let imports = package.imports.clone();
        let mut fields = Vec::new();
        for field in found.fields {
            let number = match (prefix, field.number.as_str()) {
                ("", "") => NOT_SENT.to_owned(),
                ("", number) => number.to_owned(),
                (NOT_SENT, _) => NOT_SENT.to_owned(),
                (prefix, number) => format!("{prefix}.{number}"),
            };
            if field.json.is_empty() {
                let (path, name) = match field.go.split_once('.') {
                    Some((alias, name)) => {
                        let path = imports.get(alias);
                        (
                            path.with_context(|| format!("no import {alias}"))?.clone(),
                            name,
                        )
                    }
                    None => (path.to_owned(), field.go.as_str()),
                };
                let name = name.trim_start_matches('*');
                fields.extend(self.fields(&path, name, &number)?);
                continue;
            }
            let go = qualified(&field.go, path, &imports);
            fields.push(format!("{},{},{number},{go}", field.json, field.flags));
        }
        if fields.iter().any(|field| field.contains(' ')) {
            bail!("{path}.{name} has a field with a space in it");
        }
        Ok(fields)
    }
}

impl Package {
    fn read(&mut self, source: &str) {
        let mut current: Option<(String, Struct)> = None;
        let mut in_imports = false;
        for line in source.lines() {
            if let Some((name, fields)) = &mut current {
                if line == "}" {
                    self.structs
                        .insert(std::mem::take(name), std::mem::take(fields));
                    current = None;
                } else if let Some(field) = field(line.trim()) {
                    fields.fields.push(field);
                }
            } else if in_imports {
                in_imports = line != ")";
                let mut words = line.split_whitespace();
                let (first, second) = (words.next(), words.next());
                let path = second.or(first).unwrap_or_default().trim_matches('"');
                let alias = match second {
                    Some(_) => first,
                    None => path.rsplit('/').next(),
                };
                self.imports
                    .insert(alias.unwrap_or_default().to_owned(), path.to_owned());
            } else if line == "import (" {
                in_imports = true;
            } else if let Some(rest) = line.strip_prefix("type ")
                && let Some(name) = rest.strip_suffix(" struct {")
            {
                current = Some((name.to_owned(), Struct::default()));
            }
        }
    }
}

/// A field that JSON has: `Name Type` and a tag, or an embedded `Type` and a tag.
fn field(line: &str) -> Option<Field> {
    let (declared, rest) = line.split_once('`')?;
    let tag = rest.split('`').next()?;
    if declared.starts_with("//") {
        return None;
    }
    let mut words = declared.split_whitespace();
    let (first, second) = (words.next()?, words.next());
    let json = value_of(tag, "json:\"")?;
    let (name, options) = json.split_once(',').unwrap_or((json, ""));
    if name == "-" {
        return None;
    }
    let mut flags = String::new();
    for (option, flag) in [("omitempty", 'o'), ("omitzero", 'z')] {
        if options.split(',').any(|found| found == option) {
            flags.push(flag);
        }
    }
    let protobuf = value_of(tag, "protobuf:\"").unwrap_or_default();
    Some(Field {
        json: name.to_owned(),
        flags,
        number: protobuf.split(',').nth(1).unwrap_or_default().to_owned(),
        go: second.unwrap_or(first).to_owned(),
    })
}

fn value_of<'a>(tag: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(key)?;
    rest.split('"').next()
}

/// A type as Go's messages name it: `[]v1.Container`.
fn qualified(go: &str, path: &str, imports: &BTreeMap<String, String>) -> String {
    let package = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let start = go.rfind(['*', ']']).map_or(0, |at| at + 1);
    let (before, name) = go.split_at(start);
    // The keys of maps are strings of some name.
    let before = match before.split_once("map[") {
        Some((outer, key)) if key.contains('.') || key.starts_with(char::is_uppercase) => {
            let rest = key.split_once(']').map_or("", |(_, rest)| rest);
            format!("{outer}map[string]{rest}")
        }
        _ => before.to_owned(),
    };
    match name.split_once('.') {
        Some((alias, local)) => {
            let path = imports.get(alias).map_or(alias, String::as_str);
            format!("{before}{}.{local}", package(path))
        }
        None if name.starts_with(char::is_uppercase) => format!("{before}{}.{name}", package(path)),
        None => format!("{before}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_say_their_name_flags_number_and_type() {
        let found = field(
            r#"Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,1,opt,name=replicas"`"#,
        );
        let found = found.unwrap();
        assert_eq!(
            (found.json, found.flags, found.number, found.go),
            (
                "replicas".to_owned(),
                "o".to_owned(),
                "1".to_owned(),
                "*int32".to_owned()
            )
        );
        assert!(field("// Old string `json:\"old\"`").is_none());
        let embedded = field(r#"metav1.TypeMeta `json:",inline"`"#).unwrap();
        assert_eq!(
            (embedded.json.as_str(), embedded.go.as_str()),
            ("", "metav1.TypeMeta")
        );
    }
}
