//! A real pgbouncer in transaction mode: the strict local stand-in for RDS Proxy.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{TestDatabase, env, until};

/// A pgbouncer of one test; stopped and removed at its end.
pub(crate) struct PgBouncer {
    process: Child,
    folder: PathBuf,
    url: url::Url,
}

/// What differs between them.
pub(crate) struct Settings {
    /// Connections to the server.
    pub(crate) server_connections: usize,
    /// Whose certificate it shows; none when it speaks plainly only.
    pub(crate) tls: Option<PathBuf>,
    /// Lines of its `[pgbouncer]` section about logins.
    pub(crate) logins: String,
    /// What the connection to the server needs besides host and port.
    pub(crate) server: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            server_connections: 1,
            tls: None,
            logins: "auth_type = any".to_owned(),
            server: "user=payments_app".to_owned(),
        }
    }
}

impl PgBouncer {
    /// One that asks for no password and speaks plainly.
    pub(crate) async fn start(database: &TestDatabase, server_connections: usize) -> Self {
        let settings = Settings { server_connections, ..Settings::default() };
        Self::with(&database.app_url(), database.name(), settings).await
    }

    /// One in front of that URL's server, with a name of its own.
    pub(crate) async fn with(database_url: &str, name: &str, settings: Settings) -> Self {
        let mut url: url::Url = database_url.parse().unwrap();
        let folder = std::env::temp_dir().join(format!("pgbouncer-{name}"));
        std::fs::create_dir(&folder).unwrap();
        let ini = folder.join("pgbouncer.ini");
        let port = free_port();
        std::fs::write(&ini, settings.ini(&url, port, &folder)).unwrap();
        let mut command = Command::new(env("PGBOUNCER_BIN"));
        // It refuses to serve as root, so it is told whom to become.
        if std::fs::metadata(&ini).unwrap().uid() == 0 {
            command.args(["--user", "nobody"]);
        }
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let process = command.arg(&ini).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        url.set_port(Some(port)).unwrap();
        let started = Self { process, folder, url };
        until("pgbouncer answers", async || TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
        started
    }

    /// The database's URL through it.
    pub(crate) fn url(&self) -> String {
        self.url.to_string()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Settings {
    fn ini(&self, database: &url::Url, port: u16, folder: &Path) -> String {
        let (host, server_port) = (database.host_str().unwrap(), database.port().unwrap_or(5432));
        let Self { server_connections, logins, server, tls } = self;
        let tls = tls.as_ref().map_or(String::new(), |certificate| {
            for file in ["server.crt", "server.key"] {
                std::fs::copy(certificate.join(file), folder.join(file)).unwrap();
            }
            let folder = folder.display();
            format!(
                "client_tls_sslmode = require\n\
                 client_tls_cert_file = {folder}/server.crt\n\
                 client_tls_key_file = {folder}/server.key\n"
            )
        });
        format!(
            "[databases]\n\
             * = host={host} port={server_port} {server}\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\n\
             listen_port = {port}\n\
             unix_socket_dir =\n\
             pool_mode = transaction\n\
             default_pool_size = {server_connections}\n\
             max_client_conn = 200\n\
             server_reset_query_always = 0\n\
             {logins}\n\
             {tls}"
        )
    }
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
