//! How a connection is encrypted. There is no `prefer`: a connection is encrypted and the server proven, or it is plain
//! because the URL says so or the server is this machine. Knows nothing of statements.

use std::path::Path;

use native_tls::{Certificate, Protocol, TlsConnector};
use postgres_native_tls::MakeTlsConnector;
use tokio::sync::OnceCell;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::database::DatabaseError;

/// What RDS Proxy's certificates lead to.
const AMAZON_TRUST_SERVICES: &str = include_str!("roots/amazon_trust_services.pem");
/// What the certificates of RDS instances and Aurora clusters lead to: roots of each region, each below its name.
const RDS: &str = include_str!("roots/rds.pem");
/// What the names of instances, clusters and proxies end with, behind their region's.
const RDS_DOMAIN: &str = ".rds.amazonaws.com";
/// The end of a certificate in a PEM file.
const END: &str = "-----END CERTIFICATE-----\n";

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

/// Encrypts connections, and trusts the roots for the hosts of a URL and no other.
pub(super) struct Encryption {
    roots: Roots,
    made: OnceCell<MakeTlsConnector>,
}

struct Roots {
    hosts: Vec<Host>,
    own: Vec<Certificate>,
}

impl Encryption {
    /// Trusts Amazon's roots and those in the file. What is in the file is known at once; the rest is made when it is needed.
    pub(super) fn new(config: &Config, ca_file: Option<&Path>) -> Result<Self, DatabaseError> {
        let own = ca_file.map(read).transpose()?.unwrap_or_default();
        Ok(Self { roots: Roots { hosts: config.get_hosts().to_vec(), own }, made: OnceCell::new() })
    }

    /// The connector, made at the first call: the TLS library sets itself up, which takes as long as the rest of a start,
    /// and a request that is refused does without.
    pub(super) async fn connector(&self) -> Result<MakeTlsConnector, native_tls::Error> {
        self.made.get_or_try_init(async || self.roots.connector()).await.cloned()
    }
}

impl Roots {
    fn connector(&self) -> Result<MakeTlsConnector, native_tls::Error> {
        let mut builder = TlsConnector::builder();
        builder.disable_built_in_roots(true).min_protocol_version(Some(Protocol::Tlsv12));
        let amazon = Certificate::stack_from_pem(amazon_roots(&self.hosts).as_bytes())?;
        for root in amazon.into_iter().chain(self.own.iter().cloned()) {
            builder.add_root_certificate(root);
        }
        builder.build().map(MakeTlsConnector::new)
    }
}

/// The roots of Amazon Trust Services, and RDS's of the hosts' regions. RDS's roots vouch for names of RDS in their own
/// region only, and reading those of all regions takes several times as long as everything else in a start. All are read
/// for a name whose region is none, as a global database has one.
fn amazon_roots(hosts: &[Host]) -> String {
    let regions: Vec<String> = hosts.iter().filter_map(region).map(|region| format!("RDS {region} Root CA")).collect();
    let all = regions.iter().any(|region| !RDS.contains(region));
    let of_regions = RDS.split_inclusive(END).filter(|root| all || regions.iter().any(|region| root.contains(region)));
    std::iter::once(AMAZON_TRUST_SERVICES).chain(of_regions).collect()
}

/// The region in a name of RDS.
fn region(host: &Host) -> Option<String> {
    let Host::Tcp(name) = host else { return None };
    let name = name.to_ascii_lowercase();
    let (_, region) = name.strip_suffix(RDS_DOMAIN)?.rsplit_once('.')?;
    Some(region.to_owned())
}

fn read(ca_file: &Path) -> Result<Vec<Certificate>, DatabaseError> {
    let pem = std::fs::read(ca_file).map_err(DatabaseError::CaFile)?;
    let roots = Certificate::stack_from_pem(&pem).map_err(DatabaseError::Certificates)?;
    if roots.is_empty() {
        return Err(DatabaseError::CaFile(std::io::Error::other("no certificate is in it")));
    }
    Ok(roots)
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

    fn certificates(pem: &str) -> Vec<Certificate> {
        Certificate::stack_from_pem(pem.as_bytes()).unwrap()
    }

    #[test]
    fn every_embedded_root_is_read() {
        assert_eq!(certificates(AMAZON_TRUST_SERVICES).len(), 5);
        // 27 regions with three key types each.
        assert_eq!(certificates(RDS).len(), 81);
    }

    #[test]
    fn a_name_of_rds_is_vouched_for_by_the_roots_of_its_region_and_every_root_says_whose_it_is() {
        let mut found = 0;
        for region in
            RDS.lines().filter_map(|line| line.strip_prefix("Amazon RDS ")?.strip_suffix(" Root CA ECC384 G1"))
        {
            let hosts = [Host::Tcp(format!("cluster.cluster-x.{region}.rds.amazonaws.com"))];
            let roots = certificates(&amazon_roots(&hosts));
            assert_eq!(roots.len(), 5 + 3, "{region}");
            for root in roots.iter().skip(5) {
                let der = root.to_der().unwrap();
                let name = format!("Amazon RDS {region} Root CA ");
                assert!(der.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{region}");
                found += 1;
            }
        }
        assert_eq!(found, 81);
    }

    #[test]
    fn the_region_is_the_hosts_and_other_names_have_none() {
        let roots = |url: &str| certificates(&amazon_roots(url.parse::<Config>().unwrap().get_hosts())).len();
        assert_eq!(roots("postgres://app@P.Proxy-x.EU-Central-1.RDS.amazonaws.com/x"), 5 + 3);
        assert_eq!(roots("postgres://app@a.x.eu-west-1.rds.amazonaws.com,b.x.us-east-1.rds.amazonaws.com/x"), 5 + 6);
        assert_eq!(roots("postgres://app@x.global-y.global.rds.amazonaws.com/x"), 5 + 81);
        for host in
            ["db", "eu-central-1.rds.amazonaws.com", "a.eu-central-1.rds.amazonaws.com.example", "10.0.0.1", "%2Frun"]
        {
            assert_eq!(roots(&format!("postgres://app@{host}/x")), 5, "{host}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_or_holds_no_certificate_is_an_error() {
        for file in ["/nowhere/ca.pem", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")] {
            let made = Encryption::new(&Config::new(), Some(Path::new(file)));
            assert!(matches!(made, Err(DatabaseError::CaFile(_))), "{file}");
        }
    }

    #[tokio::test]
    async fn the_connector_is_made_once() {
        let encryption = Encryption::new(&"postgres://app@db/x".parse().unwrap(), None).unwrap();
        assert!(encryption.made.get().is_none());
        encryption.connector().await.unwrap();
        assert!(encryption.made.get().is_some());
    }
}
