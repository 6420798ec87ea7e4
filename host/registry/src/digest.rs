//! Digests: SHA-256, and no other algorithm.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads `sha256:` and 64 hexadecimal digits in lower case.
    ///
    /// # Errors
    /// What is wrong with `text`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            |what: &str| format!("`{text}` {what}: write `sha256:` and 64 hexadecimal digits");
        let Some((algorithm, hex)) = text.split_once(':') else {
            return Err(wrong("has no algorithm"));
        };
        if algorithm != "sha256" {
            return Err(wrong("has an algorithm other than sha256"));
        }
        if hex.len() != 64 {
            return Err(wrong(&format!("has {} digits", hex.chars().count())));
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            for digit in pair {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return Err(wrong("has a character that is not a digit in lower case")),
                };
                *byte = *byte << 4 | value;
            }
        }
        Ok(Self(bytes))
    }

    /// The 64 digits.
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sha256_in_lower_case_is_a_digest() {
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b""), Digest::parse(text).unwrap());
        assert_eq!(Digest::of(b"").to_string(), text);
        for (text, want) in [
            (String::new(), "no algorithm"),
            ("a".repeat(64), "no algorithm"),
            (format!("md5:{}", "a".repeat(64)), "other than sha256"),
            (format!("sha512:{}", "a".repeat(128)), "other than sha256"),
            (format!("SHA256:{}", "a".repeat(64)), "other than sha256"),
            (format!("sha256:{}", "a".repeat(63)), "63 digits"),
            (format!("sha256:{}", "é".repeat(32)), "not a digit"),
            (text.to_uppercase().replace("SHA", "sha"), "not a digit"),
            (format!("sha256:{}/", "a".repeat(63)), "not a digit"),
        ] {
            let problem = Digest::parse(&text).unwrap_err();
            assert!(problem.contains(want), "{text}: {problem}");
        }
    }
}
