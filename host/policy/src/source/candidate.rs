//! A plugin as somebody wants it.

use std::borrow::Cow;
use std::sync::Arc;

use super::component::read_file;
use crate::manifest::{PluginConfig, PluginDocument, line_of_grant};
use windlass_base::digest::{Digest, digest};
use windlass_base::memory::{Account, Charge};

/// A plugin as somebody wants it: its document, and the component that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The document.
    pub document: PluginDocument,
    /// The text that holds the document: of a file, perhaps with others.
    pub text: Arc<str>,
    /// The component, as far as it is known.
    pub component: Component,
    /// The component itself, where it is at hand.
    in_memory: Option<Arc<[u8]>>,
    /// The configuration, with what is in ConfigMaps and Secrets; none if there is nothing but that of the document.
    config: Option<PluginConfig>,
    /// The memory of the whole configuration, on the account of the plugin.
    charge: Charged,
}

/// Bytes on the account of a plugin, for as long as any copy is there. They make no difference between two candidates.
#[derive(Clone, Debug, Default)]
struct Charged {
    _bytes: Option<Arc<Charge>>,
}

impl PartialEq for Charged {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Candidate {
    /// A plugin whose component is at hand, whatever file its document names.
    pub fn new(document: PluginDocument, text: Arc<str>, component: Arc<[u8]>) -> Self {
        Self {
            component: Component::Known(digest(&component)),
            in_memory: Some(component),
            config: None,
            charge: Charged::default(),
            document,
            text,
        }
    }

    /// A plugin whose component is where its document says.
    pub fn listed(document: PluginDocument, text: Arc<str>, component: Component) -> Self {
        Self {
            document,
            text,
            component,
            in_memory: None,
            config: None,
            charge: Charged::default(),
        }
    }

    /// The same with this configuration.
    pub fn with_config(&self, config: PluginConfig) -> Self {
        Self {
            config: Some(config),
            ..self.clone()
        }
    }

    /// The same, whose configuration is on this account from now on, whatever its limits: as text of the document, and as
    /// what the plugin reads.
    pub fn charged_to(&self, account: &Account) -> Self {
        let config = self.config();
        let secrets = config.secrets().map_or(0, str::len);
        let mut charge = account.charge();
        charge.set(self.document.config.len() + config.json.len() + secrets);
        Self {
            charge: Charged {
                _bytes: Some(Arc::new(charge)),
            },
            ..self.clone()
        }
    }

    /// Its configuration.
    pub fn config(&self) -> PluginConfig {
        let config = self.config.clone();
        config.unwrap_or_else(|| (&self.document.config).into())
    }

    /// Whether both are the same document and the same component, however it is configured.
    pub fn is_same_version(&self, other: &Self) -> bool {
        let (one, another) = (&self.document, &other.document);
        (&one.name, &one.origin, &self.text, &self.component)
            == (
                &another.name,
                &another.origin,
                &other.text,
                &other.component,
            )
    }

    /// Reads the component.
    ///
    /// # Errors
    /// Why it cannot be read, naming document and file. What is in no file cannot be read so.
    pub fn read_component(&self) -> Result<Cow<'_, [u8]>, String> {
        match &self.in_memory {
            Some(component) => Ok(Cow::Borrowed(component)),
            None => read_component(&self.document).map(Cow::Owned),
        }
    }

    /// Whether the component can be read without asking anyone.
    pub fn is_at_hand(&self) -> bool {
        self.in_memory.is_some() || self.document.source.file().is_some()
    }

    /// The same, whose component is to be fetched.
    pub fn to_fetch(&self) -> Self {
        Self {
            component: Component::Remote,
            ..self.clone()
        }
    }

    /// The same, whose component has turned out to have this digest.
    pub fn with_digest(&self, digest: Digest) -> Self {
        Self {
            component: Component::Known(digest),
            ..self.clone()
        }
    }

    /// The line of the file on which grant number `index` begins, the first being 1.
    pub fn line_of_grant(&self, index: usize) -> Option<u64> {
        self.document.origin.file()?;
        line_of_grant(&self.text, &self.document.name, index)
    }
}

/// What is known of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Component {
    /// Its digest.
    Known(Digest),
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// It has to be fetched.
    Remote,
}

impl Component {
    /// The digest, if it is known.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Known(digest) => Some(*digest),
            Self::Unreadable(_) | Self::Remote => None,
        }
    }
}

/// Reads the component of `plugin` from its file.
///
/// # Errors
/// Why it cannot be read, naming document and file; or that it is in no file.
pub fn read_component(plugin: &PluginDocument) -> Result<Vec<u8>, String> {
    match plugin.source.file() {
        Some(file) => read_file(file).map_err(|why| blame(plugin, &why)),
        None => Err(blame(plugin, "is not a file")),
    }
}

/// What is wrong with the component of `plugin`.
pub fn blame(plugin: &PluginDocument, why: &str) -> String {
    let PluginDocument { origin, source, .. } = plugin;
    format!("{origin}: {}: {source}: {why}", source.field())
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::manifest::{Origin, parse};
    use windlass_base::memory::{Accounts, Bounds, Budget};

    #[test]
    fn configuration_is_on_the_account_of_its_plugin_until_no_version_has_it() {
        let text = "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: { name: p }\nspec: { source: { file: p.wasm }, config: { a: b }, grants: [] }\n";
        let document = parse(&Origin::File("p.yaml".into()), text)
            .unwrap()
            .remove(0);
        let own = document.config.len();
        let asked = Candidate::new(document, text.into(), Arc::from(Vec::new()));
        let accounts = Accounts::new(Budget::new(usize::MAX));
        let account = accounts.of("p");
        // The text of the document, and what the plugin reads.
        let plain = asked.charged_to(&account);
        assert_eq!(account.used(), 2 * own);
        assert_eq!(plain, asked);
        drop(plain);
        let pad = "x".repeat(1 << 20);
        let secret = [json!({ "pad": pad })];
        let config = PluginConfig::with_secrets(&json!({ "pad": pad }).to_string(), &secret);
        let whole = asked.with_config(config).charged_to(&account);
        let copy = whole.to_fetch();
        drop(whole);
        assert!(account.used() > 2 << 20, "{}", account.used());
        drop(copy);
        assert_eq!(account.used(), 0);
        // No limit holds it back: a plugin that has too much is stopped, as for all that nobody asks for.
        account.bound(Bounds { soft: 1, hard: 1 });
        let _held = asked.charged_to(&account);
        assert!(account.exceeded().now_or_never().is_some());
    }
}
