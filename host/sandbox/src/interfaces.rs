//! The interfaces that a component imports and exports, as its bytes say.

use wasmparser::{Parser, Payload};

/// The names of what a component imports and exports, in order; nothing if it is not a component.
pub fn interfaces(component: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    // What is nested is the component's own.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                let names = section.into_iter().map_while(Result::ok);
                imports.extend(names.map(|import| import.name.name.to_owned()));
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                let names = section.into_iter().map_while(Result::ok);
                exports.extend(names.map(|export| export.name.name.to_owned()));
            }
            _ => {}
        }
    }
    (imports, exports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_component_imports_nothing() {
        assert_eq!(interfaces(b"no"), (Vec::new(), Vec::new()));
        assert_eq!(interfaces(b"\0asm\x0d\0\x01\0"), (Vec::new(), Vec::new()));
    }
}
