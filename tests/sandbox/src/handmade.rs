//! Components made by hand from the contract: with another contract, or with code that no
//! compiler would write.

use anyhow::Context;
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve, WorldId};

use windlass_harness::workspace;

/// Where the exports of the contract are found in a core module.
pub const CONTROLLER: &str = "windlass:plugin/controller@0.2.0#";

/// The contract as one text: the package and its world first.
///
/// # Errors
/// `wit/` cannot be read.
pub fn contract() -> anyhow::Result<String> {
    let folder = workspace().join("wit");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        files.push(entry?.path());
    }
    // Beside them is the folder of what was released.
    files.retain(|path| path.extension().is_some_and(|end| end == "wit"));
    files.sort_by_key(|path| !path.ends_with("world.wit"));
    let texts: Result<Vec<_>, _> = files.iter().map(std::fs::read_to_string).collect();
    Ok(texts?.concat())
}

/// The names of the functions in an interface of the contract.
///
/// # Errors
/// The contract cannot be read, or has no such interface.
pub fn functions(interface: &str) -> anyhow::Result<Vec<String>> {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("contract.wit", &contract()?)?;
    let package = resolve.packages.get(package).context("no package")?;
    let id = package.interfaces.get(interface).context("no interface")?;
    let interface = resolve.interfaces.get(*id).context("no interface")?;
    Ok(interface.functions.keys().cloned().collect())
}

/// A component that fits the contract `wit`, whose every function traps.
///
/// # Errors
/// `wit` is not a contract with a world `plugin`.
pub fn empty(wit: &str) -> anyhow::Result<Vec<u8>> {
    let (resolve, world) = world(wit)?;
    encode(
        &resolve,
        world,
        dummy_module(&resolve, world, ManglingAndAbi::Standard32),
        StringEncoding::UTF8,
    )
}

/// A component that fits the contract, whose every function traps, and whose strings have another encoding.
///
/// # Errors
/// The contract cannot be read.
pub fn encoded(strings: StringEncoding) -> anyhow::Result<Vec<u8>> {
    let (resolve, world) = world(&contract()?)?;
    let module = dummy_module(&resolve, world, ManglingAndAbi::Standard32);
    encode(&resolve, world, module, strings)
}

/// A component that fits the contract, of a core module in the text format.
///
/// # Errors
/// The module is wrong, or does not fit.
pub fn component(wit: &str, module: &str) -> anyhow::Result<Vec<u8>> {
    let (resolve, world) = world(wit)?;
    encode(
        &resolve,
        world,
        wat::parse_str(module)?,
        StringEncoding::UTF8,
    )
}

fn world(wit: &str) -> anyhow::Result<(Resolve, WorldId)> {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("contract.wit", wit)?;
    let world = resolve.select_world(&[package], Some("plugin"))?;
    Ok((resolve, world))
}

fn encode(
    resolve: &Resolve,
    world: WorldId,
    mut module: Vec<u8>,
    strings: StringEncoding,
) -> anyhow::Result<Vec<u8>> {
    embed_component_metadata(&mut module, resolve, world, strings)?;
    ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .encode()
}

/// A guest in core WebAssembly: it describes itself as the hostile guest does, and its code calls
/// imports with memory that [`Handmade::text`] has laid out.
///
/// Memory: the description from 0, texts from 256, `$answer` at 32768 (where imports answer), and
/// `$result` at 40960 (where exports answer: zeros are a success), the heap from 65536.
#[derive(Debug, Default)]
pub struct Handmade {
    wit: String,
    imports: String,
    items: String,
    texts: Vec<u8>,
    allocate: String,
    describe: String,
    reconcile: String,
    kind: Option<[String; 2]>,
}

/// What of WASI is needed to print.
const WASI: &str = "
package wasi:io@0.2.0 {
  interface error { resource error; }
  interface streams {
    use error.{error};
    variant stream-error { last-operation-failed(error), closed }
    resource output-stream {
      blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
    }
  }
}
package wasi:cli@0.2.0 {
  interface stdout {
    use wasi:io/streams@0.2.0.{output-stream};
    get-stdout: func() -> output-stream;
  }
}
";

const TEXTS: usize = 256;
/// The size of a `watch` in memory: two texts, two optional texts, two enums, and a list.
const WATCH: usize = 52;
/// Where imports answer.
pub const ANSWER: usize = 32 << 10;
const RESULT: usize = 40 << 10;

impl Handmade {
    /// Imports a function of an interface of the contract as `$function`, of these parameters.
    #[must_use]
    pub fn import(mut self, interface: &str, function: &str, parameters: usize) -> Self {
        let parameters = "i32 ".repeat(parameters);
        self.imports.push_str(&format!(
            "(import \"windlass:plugin/{interface}@0.2.0\" \"{function}\" (func ${function} (param {parameters})))\n"
        ));
        self
    }

    /// Adds `$get-stdout` and `$print`, which takes a stream, a text and where to answer.
    #[must_use]
    pub fn stdout(mut self) -> Self {
        WASI.clone_into(&mut self.wit);
        self.imports.push_str(
            r#"(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $get-stdout (result i32)))
            (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
              (func $print (param i32 i32 i32 i32)))
            "#,
        );
        self
    }

    /// The kind that it reconciles, if not the Greeting.
    #[must_use]
    pub fn of_kind(mut self, api_version: &str, kind: &str) -> Self {
        self.kind = Some([api_version, kind].map(str::to_owned));
        self
    }

    /// Adds items to the module: types, tables, functions.
    #[must_use]
    pub fn items(mut self, items: &str) -> Self {
        items.clone_into(&mut self.items);
        self
    }

    /// Code that `cabi_realloc` runs first: when the host puts something into the guest's memory.
    #[must_use]
    pub fn allocate(mut self, code: &str) -> Self {
        code.clone_into(&mut self.allocate);
        self
    }

    /// Code that `describe` runs first.
    #[must_use]
    pub fn describe(mut self, code: &str) -> Self {
        code.clone_into(&mut self.describe);
        self
    }

    /// Code that `reconcile` runs before it answers that all is well.
    #[must_use]
    pub fn reconcile(mut self, code: &str) -> Self {
        code.clone_into(&mut self.reconcile);
        self
    }

    /// Puts a text into memory; gives its place and length as two constants.
    pub fn text(&mut self, text: &str) -> String {
        let (at, length) = self.place(text.as_bytes());
        format!("(i32.const {at}) (i32.const {length})")
    }

    /// Puts bytes into memory; gives their place and length.
    pub fn place(&mut self, bytes: &[u8]) -> (usize, usize) {
        while !self.texts.len().is_multiple_of(4) {
            self.texts.push(0);
        }
        let at = TEXTS + self.texts.len();
        self.texts.extend_from_slice(bytes);
        (at, bytes.len())
    }

    /// The component.
    ///
    /// # Errors
    /// The code is wrong, or does not fit the contract.
    pub fn build(mut self) -> anyhow::Result<Vec<u8>> {
        let greeting = || ["examples.windlass.dev/v1", "Greeting"].map(str::to_owned);
        let [api_version, kind] = self.kind.take().unwrap_or_else(greeting);
        let mut strings = |texts: [&str; 2]| -> Vec<u8> {
            let places = texts.map(|text| self.place(text.as_bytes()));
            let words = places.into_iter().flat_map(|(at, length)| [at, length]);
            words.flat_map(word).collect()
        };
        let (mut head, mut watch) = (strings(["handmade", "0"]), strings([&api_version, &kind]));
        watch.resize(WATCH, 0);
        let (at, _) = self.place(&watch);
        head.extend([at, 1].into_iter().flat_map(word));
        let Self {
            wit,
            imports,
            items,
            texts,
            allocate,
            describe,
            reconcile,
            kind: _,
        } = self;
        let (head, texts) = (escape(&head), escape(&texts));
        let module = format!(
            r#"(module
            {imports}
            (memory (export "memory") 4)
            {items}
            (global $heap (mut i32) (i32.const 65536))
            (data (i32.const 0) "{head}")
            (data (i32.const {TEXTS}) "{texts}")
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
              (local $at i32)
              {allocate}
              (local.set $at (global.get $heap))
              (global.set $heap (i32.and (i32.add (i32.add (local.get $at) (local.get 3)) (i32.const 15)) (i32.const -16)))
              (if (i32.gt_u (global.get $heap) (i32.const 262144))
                (then (global.set $heap (i32.const 65536)) (local.set $at (i32.const 65536))))
              (local.get $at))
            (func (export "{CONTROLLER}describe") (result i32)
              {describe}
              (i32.const 0))
            (func (export "{CONTROLLER}reconcile") (param i32 i32 i32) (result i32)
              (local $n i32)
              {reconcile}
              (i32.const {RESULT}))
            (func (export "{CONTROLLER}finalize") (param i32 i32 i32) (result i32)
              (i32.const {RESULT})))"#
        );
        let contract = contract()?;
        if wit.is_empty() {
            return component(&contract, &module);
        }
        let import = "import clock; import wasi:cli/stdout@0.2.0;";
        component(&(contract.replace("import clock;", import) + &wit), &module)
    }
}

/// A number as it lies in a guest's memory.
pub fn word(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

fn escape(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}
