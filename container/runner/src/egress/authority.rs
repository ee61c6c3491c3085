//! The certificates of the jail's own authority: one for each host that a program asks for, made when it is first wanted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PublicKeyData as _,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Hosts whose certificate is kept; beyond them all are made anew.
const KEPT: usize = 256;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuthorityFault {
    /// The library made none.
    #[error("a certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS refuses it.
    #[error("TLS refuses a certificate: {0}")]
    Tls(#[from] rustls::Error),
}

/// The authority.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    /// The key of every host's certificate.
    key: KeyPair,
    made: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl Authority {
    /// Makes one with keys of its own.
    pub(super) fn new() -> Result<Self, AuthorityFault> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name("Cordon's authority of this jail");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), pem, key: KeyPair::generate()?, made: Mutex::default() })
    }

    /// Its certificate.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// The pin of the key that every host's certificate has: base64 of SHA-256 of its SubjectPublicKeyInfo (RFC 7469).
    pub(super) fn pin(&self) -> String {
        STANDARD.encode(Sha256::digest(self.key.subject_public_key_info()))
    }

    /// The server's side of TLS under this host's name.
    pub(super) fn server(&self, host: &str) -> Result<Arc<ServerConfig>, AuthorityFault> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = made.get(host) {
            return Ok(Arc::clone(config));
        }
        if made.len() >= KEPT {
            made.clear();
        }
        let config = Arc::new(self.make(host)?);
        made.insert(host.to_owned(), Arc::clone(&config));
        Ok(config)
    }

    fn make(&self, host: &str) -> Result<ServerConfig, AuthorityFault> {
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params.distinguished_name = name(host);
        params.use_authority_key_identifier_extension = true;
        let certificate: CertificateDer<'static> = params.signed_by(&self.key, &self.issuer)?.into();
        let key = PrivateKeyDer::try_from(self.key.serialize_der())
            .map_err(|_| rcgen::Error::CouldNotParseKeyPair)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = builder.with_no_client_auth().with_single_cert(vec![certificate], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn name(text: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    // A common name has at most 64 characters (RFC 5280, appendix A).
    name.push(DnType::CommonName, text.chars().take(64).collect::<String>());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_one_certificate_and_addresses_have_them_too() {
        let authority = Authority::new().unwrap();
        for host in ["pypi.org", "127.0.0.1", "::1", &format!("{}.example.com", "a".repeat(63))] {
            let first = authority.server(host).unwrap();
            assert!(Arc::ptr_eq(&first, &authority.server(host).unwrap()), "{host}");
        }
        assert!(authority.pem().starts_with("-----BEGIN CERTIFICATE-----"));
    }
}
