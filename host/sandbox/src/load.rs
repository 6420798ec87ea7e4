//! Loads a component: judges it, compiles it unless the code cache has its code, and has it describe itself.

use std::sync::Arc;

use wasmtime::component::Component;
use windlass_code_cache::{CacheError, Code, CodeCache};

use super::admission::{self, Refused};
use super::code_map::CompiledComponent;
use super::compiler::CompileError;
use super::executor::InlineBudget;
use super::guest_call::GuestCall;
use super::native::{GuestCode, NativeGuest};
use super::sandbox::ImportBackend;
use super::{CallError, Cancel, Description, Guest, Plugin, Sandboxes};
use windlass_base::digest::{Digest, digest};
use windlass_kube::crashes::Activity;
use windlass_policy::manifest::{Limits, PluginConfig};

/// Why a component is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is not admitted.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// There is no code for it.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The code cache cannot be used.
    #[error("cannot use the code cache")]
    Cache(#[source] CacheError),
    /// `describe` gave no answer.
    #[error("its `describe` failed")]
    Describe(#[source] CallError),
    /// `describe` gave an answer that cannot be used.
    #[error("its description cannot be used: {0}")]
    Description(String),
}

/// Where the code of a component came from when it was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeSource {
    /// It was compiled.
    Compiler,
    /// The code cache had it.
    Cache,
    /// A version that runs has it.
    Memory,
}

impl Sandboxes {
    /// Judges, compiles and describes a component.
    ///
    /// # Errors
    /// Why it cannot be used, for a person.
    pub async fn load(
        self: &Arc<Self>,
        name: &str,
        bytes: &[u8],
        config: impl Into<PluginConfig>,
        limits: Limits,
        cache: &CodeCache,
    ) -> Result<Plugin, LoadError> {
        let digest = digest(bytes);
        let (image, code_source) = match self.workshop.images.of(&digest) {
            Some(image) => (image, CodeSource::Memory),
            None => self.image(name, (digest, bytes), cache).await?,
        };
        tracing::debug!(plugin = name, reached = "compiled", "loading");
        let code = (digest, GuestCode::Compiled(image));
        let plugin = self.describe(name, code, config.into(), limits).await?;
        Ok(Plugin {
            code_source,
            ..plugin
        })
    }

    /// The component of `before` with another configuration and other limits. It is neither read nor compiled: only asked
    /// what it is.
    ///
    /// # Errors
    /// As [`Sandboxes::load`].
    pub async fn load_again(
        self: &Arc<Self>,
        before: &Plugin,
        config: PluginConfig,
        limits: Limits,
    ) -> Result<Plugin, LoadError> {
        let code = (before.guest.digest, before.guest.code.clone());
        self.describe(&before.name, code, config, limits).await
    }

    /// The plugin that a component says it is.
    async fn describe(
        self: &Arc<Self>,
        name: &str,
        (digest, code): (Digest, GuestCode),
        config: PluginConfig,
        limits: Limits,
    ) -> Result<Plugin, LoadError> {
        let name: Arc<str> = name.into();
        // Beside the calls of a version that runs: it may be the one that is to be replaced. No plugin has such a name.
        let describes = format!("{name} (describe)").into();
        let guest = Guest {
            account: self.accounts.of(&name),
            name,
            digest,
            code,
            config,
            limits,
            trust: InlineBudget::default(),
            share: Arc::new(self.shares.join(describes, &limits)),
        };
        let cancel = Cancel::default();
        // Beside a version that runs, which may have filled its own.
        let _room = guest.account.make_room(limits.host_memory);
        let called = self
            .call(&guest, GuestCall::Describe, ImportBackend::Nobody, &cancel)
            .await;
        let described = called.answer.map_err(LoadError::Describe)?;
        let described = described.description();
        let described = described.ok_or_else(|| LoadError::Description("none was given".into()))?;
        let description = Description::read(described).map_err(LoadError::Description)?;
        tracing::debug!(plugin = &*guest.name, reached = "described", "loading");
        let share = Arc::new(self.shares.join(guest.name.clone(), &limits));
        Ok(Plugin {
            name: guest.name.clone(),
            description,
            code_source: CodeSource::Memory,
            sandboxes: self.clone(),
            guest: Guest { share, ..guest },
        })
    }

    /// The plugin `name` that runs natively, and says of itself what `description` says.
    pub fn native(
        self: &Arc<Self>,
        name: &str,
        (description, guest): (Description, Arc<dyn NativeGuest>),
        config: impl Into<PluginConfig>,
        limits: Limits,
    ) -> Plugin {
        let name: Arc<str> = name.into();
        Plugin {
            name: name.clone(),
            description,
            code_source: CodeSource::Memory,
            sandboxes: self.clone(),
            guest: Guest {
                account: self.accounts.of(&name),
                // There is no component, and its name is enough to tell it apart.
                digest: digest(name.as_bytes()),
                code: GuestCode::Native(guest),
                config: config.into(),
                limits,
                trust: InlineBudget::default(),
                share: Arc::new(self.shares.join(name.clone(), &limits)),
                name,
            },
        }
    }

    /// Judges a component and makes its code ready to run.
    async fn image(
        &self,
        name: &str,
        (digest, bytes): (Digest, &[u8]),
        cache: &CodeCache,
    ) -> Result<(Arc<CompiledComponent>, CodeSource), LoadError> {
        let loading = self.in_flight.begins(digest, Activity::Loading);
        admission::judge_bytes(bytes)?;
        drop(loading);
        let ((code, component), code_source) = self.code(name, (digest, bytes), cache).await?;
        let _loading = self.in_flight.begins(digest, Activity::Loading);
        let engine = self.engine();
        admission::judge_component(engine, &component)?;
        let linker = self.workshop.linker.clone();
        let image =
            CompiledComponent::new(code, &component, engine.clone(), linker, self.seams.clock);
        let mismatch = |error: wasmtime::Error| Refused::Mismatch(format!("{error:#}"));
        let image = Arc::new(image.map_err(mismatch)?);
        self.workshop.images.add(digest, &image);
        Ok((image, code_source))
    }

    /// The compiled code of the component `bytes`, from the cache or from the compiler; and mapped.
    async fn code(
        &self,
        name: &str,
        (digest, bytes): (Digest, &[u8]),
        cache: &CodeCache,
    ) -> Result<((Code, Component), CodeSource), LoadError> {
        let kept = || {
            let _loading = self.in_flight.begins(digest, Activity::Loading);
            cache.load(self.engine(), bytes).map_err(LoadError::Cache)
        };
        if let Some(code) = kept()? {
            return Ok((code, CodeSource::Cache));
        }
        let compile = || async {
            // Somebody may have compiled the same meanwhile.
            if let Some(code) = kept()? {
                return Ok((code, CodeSource::Cache));
            }
            let code = self.compile(digest, bytes, cache).await?;
            Ok((code, CodeSource::Compiler))
        };
        let is_starved =
            |error: &LoadError| matches!(error, LoadError::Compile(CompileError::Starved(_)));
        self.compile_turns.compile(name, compile, is_starved).await
    }

    /// The code of the component `bytes` from the compiler, in the cache; and mapped.
    async fn compile(
        &self,
        digest: Digest,
        bytes: &[u8],
        cache: &CodeCache,
    ) -> Result<(Code, Component), LoadError> {
        let draft = cache
            .draft(self.engine(), bytes)
            .map_err(LoadError::Cache)?;
        let output = draft.file().map_err(LoadError::Cache)?;
        // The kernel kills a container as a whole: a compiler that takes too much can take the host with it.
        let _compiling = self.in_flight.begins(digest, Activity::Compiling);
        self.compiler.compile(bytes, output, &self.seams).await?;
        draft.keep(self.engine()).map_err(|error| match error {
            // Compiled for this engine a moment ago: it is whole, and the engine's pool has no room for it.
            CacheError::Damaged(why) => Refused::TooDemanding(why).into(),
            error => LoadError::Cache(error),
        })
    }
}
