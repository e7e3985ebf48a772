//! How a connection is encrypted. There is no `prefer`: a connection is encrypted and the server proven, or it is plain
//! because the URL says so or the server is this machine. Knows nothing of statements.

use std::path::Path;

use native_tls::{Certificate, Protocol, TlsConnector};
use postgres_native_tls::MakeTlsConnector;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::database::DatabaseError;

/// What RDS Proxy's certificates lead to.
const AMAZON_TRUST_SERVICES: &[u8] = include_bytes!("roots/amazon_trust_services.pem");
/// What the certificates of RDS instances and Aurora clusters lead to.
const RDS: &[u8] = include_bytes!("roots/rds.pem");

/// Settles the mode of a URL, for good:
///
/// | `sslmode` | IAM tokens | without |
/// |---|---|---|
/// | `require` | encrypted | encrypted |
/// | absent, `prefer` | encrypted | plain to this machine, encrypted to any other |
/// | `disable` | refused | plain |
///
/// Encrypted means what libpq calls `verify-full`: the chain and the host's name are verified, always.
pub(super) fn settle(config: &mut Config, iam_auth: bool) -> Result<(), DatabaseError> {
    let mode = match config.get_ssl_mode() {
        SslMode::Disable if iam_auth => return Err(DatabaseError::TokenInClear),
        SslMode::Disable => SslMode::Disable,
        SslMode::Prefer if !iam_auth && is_this_machine(config) => SslMode::Disable,
        _ => SslMode::Require,
    };
    config.ssl_mode(mode);
    Ok(())
}

/// Whether nothing of what is sent can leave this machine.
fn is_this_machine(config: &Config) -> bool {
    let hosts = config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()),
        Host::Unix(_) => true,
    });
    hosts && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

/// A connector that trusts Amazon's roots and those in the file, and no other.
pub(super) fn connector(ca_file: Option<&Path>) -> Result<MakeTlsConnector, DatabaseError> {
    let mut builder = TlsConnector::builder();
    builder.disable_built_in_roots(true).min_protocol_version(Some(Protocol::Tlsv12));
    let own = ca_file.map(read).transpose()?.unwrap_or_default();
    for root in parse(AMAZON_TRUST_SERVICES)?.into_iter().chain(parse(RDS)?).chain(own) {
        builder.add_root_certificate(root);
    }
    builder.build().map(MakeTlsConnector::new).map_err(DatabaseError::Certificates)
}

fn read(ca_file: &Path) -> Result<Vec<Certificate>, DatabaseError> {
    let roots = parse(&std::fs::read(ca_file).map_err(DatabaseError::CaFile)?)?;
    if roots.is_empty() {
        return Err(DatabaseError::CaFile(std::io::Error::other("no certificate is in it")));
    }
    Ok(roots)
}

fn parse(pem: &[u8]) -> Result<Vec<Certificate>, DatabaseError> {
    Certificate::stack_from_pem(pem).map_err(DatabaseError::Certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(url: &str, iam_auth: bool) -> Option<SslMode> {
        let mut config: Config = url.parse().unwrap();
        settle(&mut config, iam_auth).ok().map(|()| config.get_ssl_mode())
    }

    #[test]
    fn another_machine_is_always_encrypted_unless_the_url_says_otherwise() {
        for host in ["db", "10.0.0.1", "localhost.example", "localhost,db", "[2001:db8::1]"] {
            assert_eq!(settled(&format!("postgres://app@{host}/x"), false), Some(SslMode::Require), "{host}");
            let prefer = format!("postgres://app@{host}/x?sslmode=prefer");
            assert_eq!(settled(&prefer, false), Some(SslMode::Require), "{host}");
            let disable = format!("postgres://app@{host}/x?sslmode=disable");
            assert_eq!(settled(&disable, false), Some(SslMode::Disable), "{host}");
        }
        let elsewhere = "host=localhost hostaddr=10.0.0.1 user=app";
        assert_eq!(settled(elsewhere, false), Some(SslMode::Require));
    }

    #[test]
    fn this_machine_is_plain_unless_the_url_says_otherwise() {
        for host in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fpostgresql"] {
            assert_eq!(settled(&format!("postgres://app@{host}/x"), false), Some(SslMode::Disable), "{host}");
            let require = format!("postgres://app@{host}/x?sslmode=require");
            assert_eq!(settled(&require, false), Some(SslMode::Require), "{host}");
        }
    }

    #[test]
    fn a_token_never_travels_in_clear() {
        assert_eq!(settled("postgres://app@localhost/x", true), Some(SslMode::Require));
        assert_eq!(settled("postgres://app@localhost/x?sslmode=disable", true), None);
        assert_eq!(settled("postgres://app@db/x?sslmode=prefer", true), Some(SslMode::Require));
    }

    #[test]
    fn every_embedded_root_is_read() {
        let count = |pem| Certificate::stack_from_pem(pem).unwrap().len();
        assert_eq!(count(AMAZON_TRUST_SERVICES), 5);
        // 27 regions with three key types each.
        assert_eq!(count(RDS), 81);
    }

    #[test]
    fn a_file_that_is_not_there_or_holds_no_certificate_is_an_error() {
        for file in ["/nowhere/ca.pem", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")] {
            assert!(matches!(connector(Some(Path::new(file))), Err(DatabaseError::CaFile(_))), "{file}");
        }
    }
}
