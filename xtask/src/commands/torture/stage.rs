//! Builds the scene: a database on a small file system, the functions under a supervisor, a broken network around both.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use payments::config::MigrationConfig;
use payments::repositories::migrations;

use super::faults::{Counts, Decks, Scene, Side, Ways};
use super::target::{Masters, Target};
use super::world::World;
use super::{STACK, dump};
use crate::fixtures;
use crate::stack::lambda_apis::LambdaApis;
use crate::stack::payments::DATABASE;
use crate::stack::ports;
use crate::stack::postgres::{self, Cluster, Postgres};
use crate::stack::small_disk::SmallDisk;
use crate::stack::toxiproxy::Toxiproxy;
use crate::tools::postgres::Binaries;

/// Few enough that all of them can be taken in a moment.
const SETTINGS: &[&str] = &["max_connections=40"];

/// What a scene is built from.
pub(crate) struct Tools {
    pub(crate) cargo_lambda: PathBuf,
    pub(crate) postgres: Binaries,
    pub(crate) toxiproxy: PathBuf,
}

/// A scene with somebody to torture, and where clients reach it.
pub(super) struct Stage {
    pub(super) scene: Arc<Scene>,
    /// Through the broken network.
    pub(super) urls: Vec<String>,
    /// Why the disk is as large as any, if it is.
    pub(super) no_small_disk: Option<String>,
}

/// The product's functions.
pub(super) async fn product(tools: &Tools, seed: u64, release: bool) -> Result<Stage> {
    let (disk, no_small_disk) = match SmallDisk::mount("torture-disk") {
        Ok(disk) => (Some(disk), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let cluster = cluster(true)?;
    let server = Postgres::start_with(&tools.postgres, &cluster, SETTINGS).await?;
    match &disk {
        Some(disk) => server.create_database_in(DATABASE, disk.folder()).await?,
        None => server.ensure_database(DATABASE).await?,
    }
    let ground = Ground::prepare(&server, DATABASE, World::from_seed(seed, &Masters::new().setting())?).await?;
    let toxiproxy = Toxiproxy::start(&tools.toxiproxy, STACK).await?;
    let database_ways = Ways::open(&toxiproxy, Side::Database, cluster.port).await?;
    let direct = format!(":{}/", cluster.port);
    let database_ways: Vec<String> =
        database_ways.iter().map(|way| ground.app_url.replace(&direct, &format!(":{way}/"))).collect();
    let apis = LambdaApis::start(&tools.cargo_lambda, STACK).await?;
    let target = Target::functions(apis, &database_ways, &ground.owner_url, release)?;
    let (scene, urls) = ground.scene(target, toxiproxy, server, disk).await?;
    Ok(Stage { scene, urls, no_small_disk })
}

/// A counter-example, on a throw-away database of its own.
pub(super) async fn variant(tools: &Tools, seed: u64, variant: &'static str) -> Result<Stage> {
    let server = Postgres::start_with(&tools.postgres, &cluster(false)?, SETTINGS).await?;
    server.ensure_database(DATABASE).await?;
    let ground = Ground::prepare(&server, DATABASE, World::from_seed(seed, &Masters::new().setting())?).await?;
    let toxiproxy = Toxiproxy::start(&tools.toxiproxy, STACK).await?;
    let target = Target::variant(variant, ports::free()?, ground.app_url.clone())?;
    let (scene, urls) = ground.scene(target, toxiproxy, server, None).await?;
    Ok(Stage { scene, urls, no_small_disk: None })
}

fn cluster(durable: bool) -> Result<Cluster> {
    Ok(Cluster { name: "torture-postgres", stack: STACK, port: ports::free()?, durable, keep: false })
}

/// A migrated database with everybody's accounts.
struct Ground {
    world: World,
    owner_url: String,
    app_url: String,
}

impl Ground {
    async fn prepare(server: &Postgres, database: &str, world: World) -> Result<Self> {
        let owner_url = server.url(database);
        migrations::run(&MigrationConfig::with_url(owner_url.clone())).await.context("cannot migrate the database")?;
        let ledger = postgres::connect(&owner_url).await?;
        dump::create_notes(&ledger).await?;
        world.settle_in(&ledger).await?;
        let app_url = fixtures::app_url(&ledger, &owner_url, fixtures::APP_PASSWORD).await?;
        Ok(Self { world, owner_url, app_url })
    }

    async fn scene(
        self,
        target: Target,
        toxiproxy: Toxiproxy,
        server: Postgres,
        disk: Option<SmallDisk>,
    ) -> Result<(Arc<Scene>, Vec<String>)> {
        let ways = Ways::open(&toxiproxy, Side::Client, target.port).await?;
        let urls = ways.iter().map(|port| format!("http://127.0.0.1:{port}")).collect();
        let versions = tokio::sync::Mutex::new(vec![1; self.world.tenants()]);
        let scene = Scene {
            target: Arc::new(target),
            world: Arc::new(self.world),
            owner_url: self.owner_url,
            app_url: self.app_url,
            toxiproxy,
            postgres: tokio::sync::Mutex::new(server),
            disk,
            counts: Counts::default(),
            decks: Decks::default(),
            versions,
        };
        Ok((Arc::new(scene), urls))
    }
}
