//! A PostgreSQL server of one test that talks TLS only, run from the binaries of the tests' own server.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::database::connect;
use super::pgbouncer::free_port;
use super::{env, until};

/// The server; stopped and removed at its end.
pub(crate) struct TlsPostgres {
    process: Child,
    folder: PathBuf,
    port: u16,
}

impl TlsPostgres {
    /// A fresh server that shows the certificate in that folder and trusts every encrypted login from this machine.
    pub(crate) async fn start(name: &str, certificate: &Path) -> Self {
        let server = connect(&env("TEST_DATABASE_URL")).await;
        let sql = "SELECT current_setting('data_directory'), setting FROM pg_config WHERE name = 'BINDIR'
                   AND EXISTS (SELECT FROM pg_config WHERE name = 'CONFIGURE' AND setting ~ 'with-(open)?ssl')";
        let Some(row) = server.query_opt(sql, &[]).await.unwrap() else {
            panic!("the tests' server was built without TLS: use Debian's PostgreSQL");
        };
        let owner = std::fs::metadata(row.get::<_, String>(0)).unwrap();
        let bin = PathBuf::from(row.get::<_, String>(1));
        let folder = std::env::temp_dir().join(format!("tls-postgres-{name}"));
        std::fs::create_dir(&folder).unwrap();
        chown(&folder, Some(owner.uid()), Some(owner.gid())).unwrap();
        let command = |program: &str| {
            let mut command = Command::new(bin.join(program));
            // A server refuses to run as root: it runs as whoever runs the tests' own one.
            command.uid(owner.uid()).gid(owner.gid()).current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null());
            command
        };
        let created = command("initdb")
            .args(["-D", "data", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"])
            .status();
        assert!(created.unwrap().success());
        for file in ["server.crt", "server.key"] {
            let copy = folder.join(file);
            std::fs::copy(certificate.join(file), &copy).unwrap();
            chown(&copy, Some(owner.uid()), Some(owner.gid())).unwrap();
            std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o600)).unwrap();
        }
        std::fs::write(folder.join("data/pg_hba.conf"), "hostssl all all 127.0.0.1/32 trust\n").unwrap();
        let port = free_port();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut postgres = command("postgres");
        postgres.args(["-D", "data", "-p", &port.to_string()]).stderr(log);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "ssl=on",
            "ssl_cert_file=../server.crt",
            "ssl_key_file=../server.key",
        ] {
            postgres.args(["-c", setting]);
        }
        let started = Self { process: postgres.spawn().unwrap(), folder, port };
        until("PostgreSQL is ready", async || started.log().contains("ready to accept connections")).await;
        started
    }

    /// The owner's URL, encrypted.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=require", self.port)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap()
    }
}

impl Drop for TlsPostgres {
    fn drop(&mut self) {
        // A postmaster that is killed would leave its children behind.
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
