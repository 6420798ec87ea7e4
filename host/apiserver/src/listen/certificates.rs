//! A certificate authority of the listener's own, and the certificate that it signs for this machine.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// What clients may ask for by the name that the certificate is for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// They cannot be made.
    #[error("cannot sign a certificate for 127.0.0.1")]
    Sign(#[from] rcgen::Error),
    /// They cannot be served.
    #[error("cannot serve the certificate")]
    Serve(#[from] rustls::Error),
}

/// What the listener shows to clients.
#[derive(Debug)]
pub struct Certificates {
    /// The authority that clients have to trust, as PEM.
    pub authority: String,
    /// The certificate, before those that it is signed with.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its key.
    pub key: PrivateKeyDer<'static>,
}

impl Certificates {
    /// Makes an authority and a certificate for this machine.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn new() -> Result<Self, CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = named("windlass");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
        params.distinguished_name = named("localhost");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        Ok(Self {
            authority: authority.pem(),
            chain: vec![certificate.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        })
    }

    /// How connections are taken with it.
    pub(super) fn config(self) -> Result<Arc<ServerConfig>, CertificateError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(self.chain, self.key)?;
        config.alpn_protocols = ["h2", "http/1.1"]
            .map(|name| name.as_bytes().to_vec())
            .to_vec();
        Ok(Arc::new(config))
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}
