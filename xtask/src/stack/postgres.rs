//! A PostgreSQL cluster of our own: created on first use, started on a loopback port, stopped on drop.
//!
//! Knows initdb and the server's switches; not the schema and not who asks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio_postgres::{Client, NoTls};

use super::process::{Process, Stop};
use super::server_user::ServerUser;
use crate::tools::postgres::{Binaries, major};
use crate::workspace;

/// The superuser of our own clusters, and the owner of the ledger.
const OWNER: &str = "postgres";
/// Needs every library that any of the programs needs.
const INITDB: &str = "initdb";
const START_LIMIT: Duration = Duration::from_mins(1);

/// What kind of cluster to run.
pub(crate) struct Cluster {
    /// Names the data folder and the log.
    pub(crate) name: &'static str,
    /// The stack whose logs folder is used.
    pub(crate) stack: &'static str,
    /// The port on 127.0.0.1.
    pub(crate) port: u16,
    /// False turns fsync and its kin off: for throw-away test data only.
    pub(crate) durable: bool,
    /// False starts from an empty data folder and removes it at the end.
    pub(crate) keep: bool,
}

/// A running server.
pub(crate) struct Postgres {
    process: Process,
    launch: Launch,
    home: PathBuf,
    keep: bool,
}

/// How the server of a cluster that is there is started.
struct Launch {
    bin: PathBuf,
    user: ServerUser,
    data: PathBuf,
    log: PathBuf,
    port: u16,
    durable: bool,
    settings: &'static [&'static str],
}

impl Postgres {
    /// Creates the cluster if need be, starts it and waits until it answers.
    pub(crate) async fn start(binaries: &Binaries, cluster: &Cluster) -> Result<Self> {
        Self::start_with(binaries, cluster, &[]).await
    }

    /// The same with further settings of the server, `name=value`, which win over ours.
    pub(crate) async fn start_with(
        binaries: &Binaries,
        cluster: &Cluster,
        settings: &'static [&'static str],
    ) -> Result<Self> {
        let user = ServerUser::choose()?;
        let home = user.home(cluster.name)?;
        let bin = reachable(binaries, &user)?;
        let data = home.join("data");
        if !cluster.keep {
            remove(&data)?;
        }
        if data.join("PG_VERSION").exists() {
            require_same_major(&bin, &data)?;
            stop_leftover(&bin, &user, &data)?;
        } else {
            initialise(&bin, &user, &data, cluster)?;
        }
        let log = workspace::logs(cluster.stack).join(format!("{}.log", cluster.name));
        let launch = Launch { bin, user, data, log, port: cluster.port, durable: cluster.durable, settings };
        let mut server = Self { process: launch.start()?, launch, home, keep: cluster.keep };
        server.wait_until_ready().await?;
        Ok(server)
    }

    /// Ends the server and starts it on the same data. Every connection is lost.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.process.stop();
        self.process = self.launch.start()?;
        self.wait_until_ready().await
    }

    /// Ends the server as a crash does, without a checkpoint and in the middle of every statement, and starts it on the
    /// same data: it recovers from its log.
    pub(crate) async fn crash_and_restart(&mut self) -> Result<()> {
        self.process.quit();
        self.process = self.launch.start()?;
        self.wait_until_ready().await
    }

    /// Stops the server of this cluster that a killed run left behind, if there is one.
    pub(crate) fn stop_leftover(binaries: &Binaries, name: &str) -> Result<()> {
        let user = ServerUser::choose()?;
        let data = user.home(name)?.join("data");
        stop_leftover(&reachable(binaries, &user)?, &user, &data)
    }

    /// The owner's URL of `database` on this server.
    pub(crate) fn url(&self, database: &str) -> String {
        Self::url_at(self.launch.port, database)
    }

    /// The owner's URL of a database on a cluster of our own at that port, running or not.
    pub(crate) fn url_at(port: u16, database: &str) -> String {
        format!("postgres://{OWNER}@127.0.0.1:{port}/{database}")
    }

    /// Creates the database unless it is there.
    pub(crate) async fn ensure_database(&self, database: &str) -> Result<()> {
        let client = connect(&self.url("postgres")).await?;
        let found = client.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&database]).await?;
        if found.is_none() {
            client.batch_execute(&format!("CREATE DATABASE \"{database}\"")).await?;
        }
        Ok(())
    }

    /// Creates the database with all its tables in that folder, which is empty and the server's own.
    pub(crate) async fn create_database_in(&self, database: &str, folder: &Path) -> Result<()> {
        let client = connect(&self.url("postgres")).await?;
        let tablespace = format!("CREATE TABLESPACE \"{database}\" LOCATION '{}'", folder.display());
        client.batch_execute(&tablespace).await.context("cannot use that folder")?;
        client.batch_execute(&format!("CREATE DATABASE \"{database}\" TABLESPACE \"{database}\"")).await?;
        Ok(())
    }

    /// The server's process, to be watched.
    pub(crate) fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let url = self.url("postgres");
        let deadline = Instant::now() + START_LIMIT;
        loop {
            self.process.require_running()?;
            match connect(&url).await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    return Err(error.context("PostgreSQL does not answer"));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.process.stop();
        if !self.keep {
            // Left-over test data does no harm: the next start removes it.
            let _ = fs::remove_dir_all(&self.home);
        }
    }
}

/// Connects and drives the connection in the background until the client is dropped.
pub(crate) async fn connect(url: &str) -> Result<Client> {
    let connecting = tokio_postgres::connect(url, NoTls);
    let (client, connection) = tokio::time::timeout(Duration::from_secs(10), connecting)
        .await
        .context("the database did not answer within 10 s")?
        .context("cannot connect to the database")?;
    tokio::spawn(connection);
    Ok(client)
}

/// The binaries' folder, or that of a copy where the server's user cannot reach the original.
fn reachable(binaries: &Binaries, user: &ServerUser) -> Result<PathBuf> {
    if user.can_run(&binaries.folder.join(INITDB)) {
        return Ok(binaries.folder.clone());
    }
    let name = binaries.install.file_name().unwrap_or_default().to_string_lossy();
    let copy = user.outside(&name)?;
    let bin = copy.join(binaries.folder.strip_prefix(&binaries.install)?);
    if user.can_run(&bin.join(INITDB)) {
        return Ok(bin);
    }
    let copied =
        Command::new("cp").arg("-R").arg(binaries.install.join(".")).arg(&copy).status().context("cannot run cp")?;
    let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(&copy).status().context("cannot run chmod")?;
    if !(copied.success() && opened.success() && user.can_run(&bin.join(INITDB))) {
        bail!("the server's user can run neither {} nor a copy of it in {}", binaries.folder.display(), copy.display());
    }
    Ok(bin)
}

fn initialise(bin: &Path, user: &ServerUser, data: &Path, cluster: &Cluster) -> Result<()> {
    let mut command = user.command(&bin.join(INITDB));
    command.arg("--pgdata").arg(data).args(["--username", OWNER, "--auth=trust", "--encoding=UTF8", "--no-locale"]);
    if !cluster.durable {
        command.arg("--no-sync");
    }
    let output = command.stdin(Stdio::null()).output().context("cannot run initdb")?;
    if !output.status.success() {
        bail!("initdb failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

impl Launch {
    fn start(&self) -> Result<Process> {
        Process::start("PostgreSQL", self.command(), Stop::Postmaster, self.log.clone())
    }

    fn command(&self) -> Command {
        let mut command = self.user.command(&self.bin.join("postgres"));
        command.arg("-D").arg(&self.data).arg("-p").arg(self.port.to_string());
        for setting in ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200"] {
            command.arg("-c").arg(setting);
        }
        if !self.durable {
            for setting in ["fsync=off", "synchronous_commit=off", "full_page_writes=off"] {
                command.arg("-c").arg(setting);
            }
        }
        for setting in self.settings {
            command.arg("-c").arg(setting);
        }
        command
    }
}

/// A server that outlived a killed xtask still holds the data folder: it is ours, so it is stopped.
fn stop_leftover(bin: &Path, user: &ServerUser, data: &Path) -> Result<()> {
    let pg_ctl = |action: &str| {
        let mut command = user.command(&bin.join("pg_ctl"));
        command.arg(action).arg("-D").arg(data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    if pg_ctl("status").status().context("cannot run pg_ctl")?.success() {
        println!("  stopping a PostgreSQL server that an earlier run left behind");
        let stopped = pg_ctl("stop").args(["-m", "fast", "-w"]).status()?;
        if !stopped.success() {
            bail!("an earlier server still runs on {} and does not stop", data.display());
        }
    }
    Ok(())
}

fn require_same_major(bin: &Path, data: &Path) -> Result<()> {
    let of_data = fs::read_to_string(data.join("PG_VERSION"))?;
    let output = Command::new(bin.join("postgres")).arg("--version").output().context("cannot run postgres")?;
    let of_server = major(&String::from_utf8_lossy(&output.stdout)).context("cannot read the server's version")?;
    if of_data.trim() != of_server.to_string() {
        bail!(
            "{} was made by PostgreSQL {}, the server found is {of_server}: remove the folder to start afresh",
            data.display(),
            of_data.trim()
        );
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
