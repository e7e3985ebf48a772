//! Round trips of the ledger, counted on the wire: each ends with one `Sync` of PostgreSQL's protocol.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use payments::domain::Invocation;
use payments::ports::{CreatePayment as _, LedgerAnswer};
use payments::repositories::PostgresLedger;
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};

use crate::ledger_load::{in_words_of_the_domain, ledger};
use crate::subjects::{Kind, Wish, Wishes};

/// A rival that starts at the same moment wins about every second race.
const RACES: u32 = 2_000;

/// Where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Host and port of the database
    #[arg(long)]
    database_address: String,
    /// The application role's URL, with `{address}` in place of host and port
    #[arg(long)]
    database_url: String,
    /// Keep each statement's plan on its connection
    #[arg(long)]
    prepared: bool,
}

/// Round trips of one call.
#[derive(Serialize)]
pub(crate) struct RoundTrips {
    new: u32,
    replay: u32,
    lost_race: u32,
}

/// Counts.
pub(crate) async fn run(arguments: &Arguments) -> Result<RoundTrips> {
    let syncs = Arc::new(AtomicU32::new(0));
    let wire = open_wire(arguments.database_address.clone(), Arc::clone(&syncs)).await?;
    let on_wire = ledger(&arguments.database_url.replace("{address}", &wire), 1, arguments.prepared)?;
    let rival =
        ledger(&arguments.database_url.replace("{address}", &arguments.database_address), 1, arguments.prepared)?;
    let mut wishes = Wishes::new(Kind::Spread, 1, 0, 1);
    // The first calls connect, and prepare what is to be prepared: the claim, and the look that a replay begins with.
    for ledger in [&on_wire, &rival] {
        let wish = wishes.next();
        pay(ledger, wish).await?;
        pay(ledger, wish).await?;
    }
    let wish = wishes.next();
    let mut counted = [0; 2];
    for (count, expected_new) in counted.iter_mut().zip([true, false]) {
        let before = syncs.load(SeqCst);
        let (answer, _) = pay(&on_wire, wish).await?;
        ensure!(matches!(answer, LedgerAnswer::Created(_)) == expected_new, "a payment ended as {answer:?}");
        *count = syncs.load(SeqCst) - before;
    }
    let [new, replay] = counted;
    let lost_race = lose_a_race(&on_wire, &rival, &mut wishes, &syncs).await?;
    Ok(RoundTrips { new, replay, lost_race })
}

async fn lose_a_race(
    on_wire: &PostgresLedger,
    rival: &PostgresLedger,
    wishes: &mut Wishes,
    syncs: &AtomicU32,
) -> Result<u32> {
    for _ in 0..RACES {
        let wish = wishes.next();
        let before = syncs.load(SeqCst);
        let (ours, theirs) = tokio::join!(pay(on_wire, wish), pay(rival, wish));
        theirs?;
        if ours?.1.lost_races() == 1 {
            return Ok(syncs.load(SeqCst) - before);
        }
    }
    bail!("no race was lost in {RACES}")
}

async fn pay(ledger: &PostgresLedger, wish: Wish) -> Result<(LedgerAnswer, Invocation)> {
    let (caller, withdrawal, key) = in_words_of_the_domain(wish)?;
    let invocation = Invocation::new("bench".to_owned(), Duration::from_secs(20));
    Ok((ledger.create_payment(&caller, &withdrawal, &key, &invocation).await?, invocation))
}

async fn open_wire(to: String, syncs: Arc<AtomicU32>) -> Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(carry(client, to.clone(), Arc::clone(&syncs)));
        }
    });
    Ok(address)
}

async fn carry(client: TcpStream, to: String, syncs: Arc<AtomicU32>) -> Result<()> {
    let server = TcpStream::connect(to).await.context("the database is gone")?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
    let (mut buffer, mut frontend) = (vec![0; 65_536], Frontend::default());
    loop {
        let length = from_client.read(&mut buffer).await?;
        let bytes = buffer.get(..length).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(());
        }
        syncs.fetch_add(frontend.syncs_in(bytes), SeqCst);
        to_server.write_all(bytes).await?;
    }
}

/// The messages of one client, as their bytes arrive.
#[derive(Default)]
struct Frontend {
    pending: Vec<u8>,
    started: bool,
}

impl Frontend {
    /// How many `Sync` messages these bytes complete.
    fn syncs_in(&mut self, bytes: &[u8]) -> u32 {
        self.pending.extend_from_slice(bytes);
        let mut syncs = 0;
        while let Some(kind) = self.next_message() {
            syncs += u32::from(kind == b'S');
        }
        syncs
    }

    /// The type of the next complete message. The first one, the start-up, has none on the wire.
    fn next_message(&mut self) -> Option<u8> {
        let header = usize::from(self.started);
        let length: [u8; 4] = self.pending.get(header..header + 4)?.try_into().ok()?;
        let end = header + usize::try_from(u32::from_be_bytes(length)).ok()?;
        let kind = self.pending.get(..end)?.first().copied().filter(|_| self.started);
        self.started = true;
        self.pending.drain(..end);
        Some(kind.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_are_counted_whatever_the_pieces_they_arrive_in() {
        let start_up = [0, 0, 0, 8, 0, 3, 0, 0];
        let query = *b"P\x00\x00\x00\x06S\x00S\x00\x00\x00\x04";
        let stream = [&start_up[..], &query, &query].concat();
        for size in 1..=stream.len() {
            let mut frontend = Frontend::default();
            let syncs: u32 = stream.chunks(size).map(|piece| frontend.syncs_in(piece)).sum();
            assert_eq!(syncs, 2, "in pieces of {size}");
        }
    }
}
