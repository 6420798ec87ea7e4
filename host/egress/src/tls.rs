//! TLS to an origin: whom the host trusts, and what it shows of itself.

use std::fmt;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretSlice};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What a rule adds to TLS. Empty for most.
#[derive(Clone, Default)]
pub struct TlsParts {
    ca: Option<Vec<u8>>,
    client: Option<(Vec<u8>, SecretSlice<u8>)>,
}

/// The key is not shown.
impl fmt::Debug for TlsParts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TlsParts")
            .field("ca", &self.ca.is_some())
            .field("client", &self.client.is_some())
            .finish()
    }
}

/// Why there is no TLS. It holds no key.
#[derive(Debug, thiserror::Error)]
pub enum TlsProblem {
    /// The authorities cannot be read.
    #[error("the value of ca has no certificate in PEM")]
    Authorities,
    /// The client certificate cannot be read.
    #[error("tls.crt of the client certificate has no certificate in PEM")]
    Certificate,
    /// Its key cannot be read.
    #[error("tls.key of the client certificate has no private key in PEM")]
    Key,
    /// They do not fit together.
    #[error("the client certificate and its key cannot be used")]
    Use(#[source] tokio_rustls::rustls::Error),
}

impl TlsParts {
    /// Trusts the authorities of `pem`, and no others.
    #[must_use]
    pub fn with_ca(self, pem: &[u8]) -> Self {
        let ca = Some(pem.to_vec());
        Self { ca, ..self }
    }

    /// Shows a certificate: `tls.crt` and `tls.key` of a Secret.
    #[must_use]
    pub fn with_client(self, certificate: &[u8], key: &[u8]) -> Self {
        let key = SecretSlice::from(key.to_vec());
        let client = Some((certificate.to_vec(), key));
        Self { client, ..self }
    }

    /// Whether it has authorities and a certificate of its own.
    pub(crate) fn has(&self) -> (bool, bool) {
        (self.ca.is_some(), self.client.is_some())
    }

    /// Tells it from others.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let (certificate, key) = match &self.client {
            Some((certificate, key)) => (Some(certificate.as_slice()), Some(key.expose_secret())),
            None => (None, None),
        };
        for part in [self.ca.as_deref(), certificate, key] {
            let length = part.map_or(0, |part| part.len() + 1);
            digest.update(length.to_be_bytes());
            digest.update(part.unwrap_or_default());
        }
        digest.finalize().into()
    }

    /// The configuration of connections, for HTTP/1.1 alone. `roots` are trusted if there are no authorities of its own.
    ///
    /// # Errors
    /// A certificate or key cannot be read or used.
    pub fn config(&self, roots: &Arc<RootCertStore>) -> Result<ClientConfig, TlsProblem> {
        let roots = match &self.ca {
            Some(pem) => Arc::new(authorities(pem).ok_or(TlsProblem::Authorities)?),
            None => Arc::clone(roots),
        };
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsProblem::Use)?
            .with_root_certificates(roots);
        let mut config = match &self.client {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate).ok_or(TlsProblem::Certificate)?;
                let key = PrivateKeyDer::from_pem_slice(key.expose_secret());
                let key = key.map_err(|_| TlsProblem::Key)?;
                let config = builder.with_client_auth_cert(chain, key);
                config.map_err(TlsProblem::Use)?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let all = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    all.ok().filter(|all| !all.is_empty())
}

fn authorities(pem: &[u8]) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate).ok()?;
    }
    Some(roots)
}

/// The authorities that the operating system trusts, and what could not be read. Reads files: the host calls it once,
/// when it starts.
pub fn system_roots() -> (RootCertStore, Vec<String>) {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    let problems = found.errors.iter().map(ToString::to_string).collect();
    (roots, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_told_without_the_key() {
        let roots = Arc::new(RootCertStore::empty());
        let config = |parts: TlsParts| parts.config(&roots).map(|_| ()).unwrap_err().to_string();
        let ca = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
        let other = rcgen::generate_simple_self_signed(["b.example".to_owned()]).unwrap();
        let (certificate, key) = (ca.cert.pem(), ca.signing_key.serialize_pem());
        let wrong_key = other.signing_key.serialize_pem();
        let parts = TlsParts::default;
        assert!(config(parts().with_ca(b"")).contains("ca"));
        assert!(config(parts().with_client(b"", key.as_bytes())).contains("tls.crt"));
        assert!(config(parts().with_client(certificate.as_bytes(), b"")).contains("tls.key"));
        let mixed = parts().with_client(certificate.as_bytes(), wrong_key.as_bytes());
        assert!(config(mixed.clone()).contains("cannot be used"));
        let good = parts().with_client(certificate.as_bytes(), key.as_bytes());
        assert!(good.config(&roots).is_ok());
        assert_ne!(good.digest(), mixed.digest());
        assert_ne!(good.digest(), parts().digest());
        assert_eq!(format!("{good:?}"), "TlsParts { ca: false, client: true }");
    }
}
