//! What content is told apart by.

use std::fmt;

use sha2::Sha256;

/// The SHA-256 of some content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The digest of `bytes`.
pub fn digest(bytes: &[u8]) -> Digest {
    use sha2::Digest as _;
    Digest(Sha256::digest(bytes).into())
}

impl Digest {
    /// All of it, in hexadecimal digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The digest that has these hexadecimal digits, if it is one.
    pub fn of_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(2 * index..2 * index + 2)?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// As logs show it: `sha256:` and the first twelve digits.
impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = self.hex();
        write!(out, "sha256:{}", hex.get(..12).unwrap_or(&hex))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}
