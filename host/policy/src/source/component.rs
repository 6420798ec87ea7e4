//! Reads the file of a component, which may be packed with gzip.
//!
//! - What counts is the content, not the name: gzip and WebAssembly begin with other bytes.
//! - What a file unpacks to is as large as a component may be, at most. Unpacking stops there.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

/// A larger file is refused unread. The largest measured toolchain output is 18 MiB (Python).
pub const LARGEST_FILE: usize = 32 << 20;

/// How gzip begins (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the component in a file.
///
/// # Errors
/// Why it cannot be read, as what follows the file's name.
pub fn read_file(file: &Path) -> Result<Vec<u8>, String> {
    match fs::metadata(file) {
        Ok(metadata) if !metadata.is_file() => return Err("is not a file".into()),
        // Asked before it is read: the host's memory is for its plugins.
        Ok(metadata) if metadata.len() > LARGEST_FILE as u64 => {
            return Err(format!(
                "has {} bytes; at most 32 MiB are taken",
                metadata.len()
            ));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("there is no such file: build the component, or correct the name".into());
        }
        Err(error) => return Err(unreadable(&error)),
    }
    let file = File::open(file).map_err(|error| unreadable(&error))?;
    unpacked(BufReader::new(file))
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

/// Reads a component, which may be packed.
///
/// # Errors
/// Why it cannot be read.
pub fn unpacked(mut input: impl BufRead) -> Result<Vec<u8>, String> {
    let begin = input.fill_buf().map_err(|error| unreadable(&error))?;
    let is_packed = begin.starts_with(&GZIP);
    // One byte more tells that there is more.
    let most = LARGEST_FILE as u64 + 1;
    let mut bytes = Vec::new();
    if is_packed {
        let read = MultiGzDecoder::new(input)
            .take(most)
            .read_to_end(&mut bytes);
        read.map_err(|error| {
            format!(
                "begins as a gzip file but cannot be unpacked ({error}): pack the component again"
            )
        })?;
    } else {
        let read = input.take(most).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(&error))?;
    }
    if bytes.len() > LARGEST_FILE {
        let holds = if is_packed { "unpacks to" } else { "has" };
        return Err(format!("{holds} more than 32 MiB; at most that is taken"));
    }
    Ok(bytes)
}

/// Whether a file with this name is written packed: `greeter.wasm.gz`.
pub fn is_packed_name(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "gz")
}

/// `bytes`, packed. The same bytes give the same file.
///
/// # Errors
/// Never: it writes into memory.
pub fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packing = GzEncoder::new(Vec::new(), Compression::best());
    packing.write_all(bytes)?;
    packing.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_component_is_read_as_what_is_in_it() {
        let component = b"\0asm\x0d\0\x01\0 and so on";
        let (front, back) = component.split_at(5);
        let members = [packed(front).unwrap(), packed(back).unwrap()].concat();
        for bytes in [component.to_vec(), packed(component).unwrap(), members] {
            assert_eq!(unpacked(&*bytes).unwrap(), component);
        }
        assert_eq!(unpacked(&b""[..]), Ok(Vec::new()));
        assert_eq!(packed(component).unwrap(), packed(component).unwrap());
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused_and_said() {
        let most = packed(&vec![0; LARGEST_FILE]).unwrap();
        assert_eq!(unpacked(&*most).unwrap().len(), LARGEST_FILE);
        let bomb = packed(&vec![0; LARGEST_FILE + 1]).unwrap();
        assert!(bomb.len() < 64 << 10, "{} bytes", bomb.len());
        let why = unpacked(&*bomb).unwrap_err();
        assert_eq!(why, "unpacks to more than 32 MiB; at most that is taken");
        // It stops there: what comes after would not be gzip.
        let bomb = [packed(&vec![0; LARGEST_FILE + 1]).unwrap(), vec![7; 99]].concat();
        assert_eq!(unpacked(&*bomb), Err(why));
    }

    #[test]
    fn what_is_cut_off_or_damaged_is_refused() {
        let whole = packed(&[7; 999]).unwrap();
        let cut = whole.get(..whole.len() - 9).unwrap().to_vec();
        let mut damaged = whole.clone();
        if let Some(byte) = damaged.last_mut() {
            *byte ^= 1;
        }
        for bytes in [
            cut,
            damaged,
            vec![0x1f, 0x8b],
            [whole, vec![7; 99]].concat(),
        ] {
            let why = unpacked(&*bytes).unwrap_err();
            assert!(
                why.starts_with("begins as a gzip file but cannot be unpacked"),
                "{why}"
            );
        }
    }

    #[test]
    fn names_say_who_is_written_packed() {
        for (name, want) in [
            ("a.wasm.gz", true),
            ("a.gz", true),
            ("a.wasm", false),
            ("gz", false),
        ] {
            assert_eq!(is_packed_name(Path::new(name)), want, "{name}");
        }
    }
}
