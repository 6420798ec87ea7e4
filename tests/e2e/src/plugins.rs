//! A config folder with plugins in it, as an operator would lay it out.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_harness::guest;
use windlass_policy::grants::Grant;

/// The same plugin in each language that has an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeter {
    /// `plugins/greeter`.
    Rust,
    /// `plugins/greeter-js`.
    JavaScript,
}

impl Greeter {
    /// The package that it is built from.
    pub fn package(self) -> &'static str {
        match self {
            Self::Rust => "greeter",
            Self::JavaScript => "greeter-js",
        }
    }
}

/// Makes of each async function that takes a [`Greeter`] two tests, `rust::name` and
/// `javascript::name`: `for_each_greeter!(Result<()> => one, another);`. One that is not named here is
/// dead code, which the lints refuse.
#[macro_export]
macro_rules! for_each_greeter {
    ($answer:ty => $($name:ident),+ $(,)?) => {
        $crate::for_each_greeter!(@ rust, Rust, $answer, $($name)+);
        $crate::for_each_greeter!(@ javascript, JavaScript, $answer, $($name)+);
    };
    (@ $module:ident, $greeter:ident, $answer:ty, $($name:ident)+) => {
        mod $module {
            #[allow(unused_imports, reason = "the answer's type may have a name from there")]
            use super::*;
            $(
                #[tokio::test]
                async fn $name() -> $answer {
                    super::$name($crate::Greeter::$greeter).await
                }
            )+
        }
    };
}

/// A config folder that goes with the test.
pub struct Plugins {
    folder: TempDir,
    namespace: String,
    greeter: Greeter,
}

impl Plugins {
    /// An empty folder, for plugins that work in `namespace`.
    ///
    /// # Errors
    /// The file system said no.
    pub fn new(namespace: &str) -> Result<Self> {
        Ok(Self {
            folder: tempfile::tempdir()?,
            namespace: namespace.to_owned(),
            greeter: Greeter::Rust,
        })
    }

    /// The same folder, with the greeter in another language from now on.
    #[must_use]
    pub fn written_in(self, greeter: Greeter) -> Self {
        Self { greeter, ..self }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Adds the greeter, with the grants that its own document asks for, for one namespace.
    ///
    /// # Errors
    /// It does not build.
    pub fn greeter(self) -> Result<Self> {
        self.greeter_as("greeter")
    }

    /// As [`Plugins::greeter`], under another name: with another finalizer.
    ///
    /// # Errors
    /// It does not build.
    pub fn greeter_as(self, name: &str) -> Result<Self> {
        let namespace = self.namespace.clone();
        self.greeter_in(name, &namespace)
    }

    /// As [`Plugins::greeter_as`], for another namespace than the folder's.
    ///
    /// # Errors
    /// It does not build.
    pub fn greeter_in(self, name: &str, namespace: &str) -> Result<Self> {
        let document = json!({
            "source": { "file": "greeter.wasm" },
            "grants": [
                grant(namespace, "examples.windlass.dev", &["greetings", "greetings/status"], &["get", "list", "watch", "patch"]),
                grant(namespace, "", &["configmaps"], ALL),
                grant(namespace, "apps", &["deployments"], ALL).acknowledged(),
                { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch", "delete"], "namespaces": ["greetings"] },
            ],
        });
        let package = self.greeter.package();
        self.component(package, "greeter.wasm")?
            .document(name, &document)
    }

    /// Adds the hostile guest under `name`, with an attack and no grant but for its primary and
    /// what `grants` adds.
    ///
    /// # Errors
    /// It does not build.
    pub fn hostile(
        self,
        name: &str,
        attack: &str,
        limits: &Value,
        grants: &[Value],
    ) -> Result<Self> {
        let mut all = vec![self.grant(
            "examples.windlass.dev",
            &["greetings"],
            &["get", "list", "watch"],
        )];
        all.extend_from_slice(grants);
        let document = json!({
            "source": { "file": "hostile.wasm" },
            "config": { "attack": attack },
            "grants": all,
            "limits": limits,
        });
        self.component("hostile", "hostile.wasm")?
            .document(name, &document)
    }

    /// Gives the plugin `name`, whose document is there already, other limits.
    ///
    /// # Errors
    /// It has no document.
    pub fn limits(self, name: &str, limits: &Value) -> Result<Self> {
        self.field(name, "limits", limits)
    }

    /// Has the plugin `name`, whose document is there already, act as the service account `account` of `namespace`.
    ///
    /// # Errors
    /// It has no document.
    pub fn acting_as(self, name: &str, namespace: &str, account: &str) -> Result<Self> {
        let account = json!({ "namespace": namespace, "name": account });
        self.field(name, "serviceAccount", &account)
    }

    /// Sets a field of a document's spec.
    fn field(self, name: &str, field: &str, value: &Value) -> Result<Self> {
        let file = format!("{name}.yaml");
        let text = fs::read_to_string(self.folder().join(&file))?;
        let mut document: Value = serde_json::from_str(&text)?;
        let spec = document.get_mut("spec").and_then(Value::as_object_mut);
        let spec = spec.context("a document has a spec")?;
        spec.insert(field.into(), value.clone());
        self.file(&file, document.to_string())
    }

    /// A grant in the folder's namespace.
    pub fn grant(&self, group: &str, resources: &[&str], verbs: &[&str]) -> Value {
        grant(&self.namespace, group, resources, verbs)
    }

    /// Builds `package`, a crate or an npm package, and puts its component into the folder as `file`.
    ///
    /// # Errors
    /// It does not build.
    pub fn component(self, package: &str, file: &str) -> Result<Self> {
        fs::copy(guest(package)?, self.folder().join(file))?;
        Ok(self)
    }

    /// Adds a document with `spec`.
    ///
    /// # Errors
    /// The file system said no.
    pub fn document(self, name: &str, spec: &Value) -> Result<Self> {
        let document = json!({
            "apiVersion": "windlass.dev/v1alpha1",
            "kind": "Plugin",
            "metadata": { "name": name },
            "spec": spec,
        });
        let text = format!("{document:#}");
        self.file(&format!("{name}.yaml"), &text)
    }

    /// Adds any file.
    ///
    /// # Errors
    /// The file system said no.
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Result<Self> {
        fs::write(self.folder().join(name), content)?;
        Ok(self)
    }
}

/// A grant in one namespace.
fn grant(namespace: &str, group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": resources, "verbs": verbs, "namespaces": [namespace] })
}

/// Every verb that a child needs.
pub const ALL: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

/// Says that a powerful grant is meant.
pub trait Acknowledge {
    /// The grant, with all that is powerful in it acknowledged.
    fn acknowledged(self) -> Value;
}

impl Acknowledge for Value {
    fn acknowledged(mut self) -> Value {
        let words = Grant::deserialize(&self).map(|grant| grant.acknowledgements());
        if let (Some(grant), Ok(words)) = (self.as_object_mut(), words) {
            grant.insert("acknowledge".into(), words.into());
        }
        self
    }
}
