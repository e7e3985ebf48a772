//! A certificate authority of a test, and servers' certificates from it: good ones and bad ones.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// An authority that nobody trusts unless told to.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// Until when a certificate is valid.
#[derive(Clone, Copy)]
pub(crate) enum Validity {
    Current,
    Expired,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "an authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Writes the root, to be trusted, into a folder as `ca.pem`.
    pub(crate) fn write_root(&self, folder: &Path) {
        std::fs::write(folder.join("ca.pem"), &self.pem).unwrap();
    }

    /// Writes the certificate of a host and its key into a folder as `server.crt` and `server.key`.
    pub(crate) fn write_server(&self, folder: &Path, host: &str, validity: Validity) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "a server of a test");
        if matches!(validity, Validity::Expired) {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(folder.join("server.crt"), certificate.pem()).unwrap();
        std::fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
    }
}
