//! The certificate authority of one control plane, and what it signs.

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate and its key.
#[derive(Debug)]
pub(crate) struct Certified {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    key: KeyPair,
}

impl Certified {
    /// The certificate as a PEM file has it.
    pub(crate) fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The private key as a PEM file has it.
    pub(crate) fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The certificate and key as rustls takes them.
    pub(crate) fn for_rustls(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        (vec![self.certificate.clone()], key.into())
    }
}

/// Whether a client certificate is still valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validity {
    /// For longer than any test.
    Long,
    /// It ended in the past.
    Expired,
}

/// Signs the certificates of servers and of users; each control plane has its own.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes a new one.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name("windlass control plane for tests", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)
            .context("cannot make the certificate authority")?;
        Ok(Self { issuer })
    }

    /// The authority's own certificate as a PEM file has it.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The authority's own certificate as rustls takes it.
    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// Signs a certificate for a server on this machine.
    pub(crate) fn server(&self) -> anyhow::Result<Certified> {
        let names = ["localhost", "127.0.0.1"].map(ToOwned::to_owned);
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = name("localhost", &[])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&params)
    }

    /// Signs a certificate that makes its holder `user`, a member of `groups`.
    pub(crate) fn client(
        &self,
        user: &str,
        groups: &[&str],
        validity: Validity,
    ) -> anyhow::Result<Certified> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, groups)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if validity == Validity::Expired {
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> anyhow::Result<Certified> {
        let key = KeyPair::generate()?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .context("cannot sign a certificate")?;
        Ok(Certified {
            certificate: certificate.der().clone(),
            certificate_pem: certificate.pem(),
            key,
        })
    }
}

/// The subject that Kubernetes reads as a user and its groups.
fn name(user: &str, groups: &[&str]) -> anyhow::Result<DistinguishedName> {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, user);
    // rcgen keeps one value per type, and tells a type from the same type spelled as a number.
    let spellings = [
        DnType::OrganizationName,
        DnType::CustomDnType(vec![2, 5, 4, 10]),
    ];
    anyhow::ensure!(
        groups.len() <= spellings.len(),
        "{user} is in more than two groups"
    );
    for (spelling, group) in spellings.into_iter().zip(groups) {
        name.push(spelling, *group);
    }
    Ok(name)
}
