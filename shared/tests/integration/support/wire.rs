//! The network between the application and PostgreSQL: it counts round trips, and fails on demand.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex as StdMutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::frontend::{Frontend, is_ready};

/// The size of a small piece in bytes: less than any message of a reply with a row.
const SLICE: usize = 16;

/// A TCP proxy in front of a database.
pub(crate) struct Wire {
    url: url::Url,
    address: SocketAddr,
    state: Arc<State>,
    /// The listener and its connections; dropping them closes all.
    carriers: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct State {
    server: String,
    syncs: AtomicU32,
    lose_requests: AtomicU32,
    lose_replies: AtomicU32,
    then_lose_request: AtomicBool,
    halve_replies: AtomicU32,
    withhold_replies: AtomicU32,
    sliced: AtomicBool,
    silent: AtomicBool,
    connections: AtomicU32,
    dead: AtomicU32,
    heard: StdMutex<Vec<u8>>,
}

impl Wire {
    /// A wire to the database at that URL.
    pub(crate) async fn to(database_url: &str) -> Self {
        let mut url: url::Url = database_url.parse().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state =
            State { server: format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5432)), ..State::default() };
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(address.port())).unwrap();
        let wire = Self { url, address, state: Arc::new(state), carriers: Mutex::default() };
        wire.listen(listener).await;
        wire
    }

    /// The database's URL through this wire.
    pub(crate) fn url(&self) -> String {
        self.url.to_string()
    }

    /// How many round trips clients have begun.
    pub(crate) fn round_trips(&self) -> u32 {
        self.state.syncs.load(SeqCst)
    }

    /// Everything that clients have said, as it was on the wire.
    pub(crate) fn heard(&self) -> Vec<u8> {
        self.state.heard.lock().unwrap().clone()
    }

    /// The next `n` requests break the connection before they reach the server.
    pub(crate) fn lose_requests(&self, n: u32) {
        self.state.lose_requests.store(n, SeqCst);
    }

    /// The next `n` requests are executed and committed, and the connection breaks before the reply.
    pub(crate) fn lose_replies(&self, n: u32) {
        self.state.lose_replies.store(n, SeqCst);
    }

    /// The next request is executed and committed and its reply lost; the one after it never arrives.
    pub(crate) fn lose_a_reply_then_a_request(&self) {
        self.state.then_lose_request.store(true, SeqCst);
        self.lose_replies(1);
    }

    /// The next `n` requests are executed and committed, and the connection breaks in the middle of the reply.
    pub(crate) fn lose_replies_half_way(&self, n: u32) {
        self.state.halve_replies.store(n, SeqCst);
    }

    /// The next `n` requests are executed and committed, and the reply never comes: their connections stay open.
    pub(crate) fn withhold_replies(&self, n: u32) {
        self.state.withhold_replies.store(n, SeqCst);
    }

    /// From now on replies arrive in small pieces.
    pub(crate) fn slice_replies(&self) {
        self.state.sliced.store(true, SeqCst);
    }

    /// From now on connections are accepted and kept, and nothing passes.
    pub(crate) fn fall_silent(&self) {
        self.state.silent.store(true, SeqCst);
    }

    /// The connections of now carry nothing any more, and nobody is told; new ones are carried.
    pub(crate) fn let_connections_die(&self) {
        self.state.dead.store(self.connections(), SeqCst);
    }

    /// How many connections there have been.
    pub(crate) fn connections(&self) -> u32 {
        self.state.connections.load(SeqCst)
    }

    /// From now on new connections are carried again; the old ones stay silent.
    pub(crate) fn speak_on_new_connections(&self) {
        self.state.silent.store(false, SeqCst);
    }

    /// Breaks every connection and accepts new ones.
    pub(crate) async fn cut(&self) {
        self.take_down().await;
        self.bring_up().await;
    }

    /// Breaks every connection and refuses new ones.
    pub(crate) async fn take_down(&self) {
        self.carriers.lock().await.shutdown().await;
    }

    /// Accepts connections again, and carries what they say.
    pub(crate) async fn bring_up(&self) {
        self.state.silent.store(false, SeqCst);
        self.listen(TcpListener::bind(self.address).await.unwrap()).await;
    }

    async fn listen(&self, listener: TcpListener) {
        let state = Arc::clone(&self.state);
        self.carriers.lock().await.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(carry(client, Arc::clone(&state)));
            }
        });
    }
}

/// What is done to the reply to a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reply {
    Deliver,
    /// Break the connection instead.
    Lose,
    /// Break it after half of the bytes.
    Halve,
    /// Keep the connection and say nothing.
    Withhold,
}

impl State {
    fn fate_of_reply(&self) -> Reply {
        if spend(&self.lose_replies) {
            if self.then_lose_request.swap(false, SeqCst) {
                self.lose_requests.store(1, SeqCst);
            }
            Reply::Lose
        } else if spend(&self.halve_replies) {
            Reply::Halve
        } else if spend(&self.withhold_replies) {
            Reply::Withhold
        } else {
            Reply::Deliver
        }
    }
}

/// Carries one connection until either side ends it or the wire breaks it.
async fn carry(mut client: TcpStream, state: Arc<State>) {
    let number = state.connections.fetch_add(1, SeqCst);
    let mut server = TcpStream::connect(&state.server).await.unwrap();
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (mut request, mut reply) = (vec![0; 65_536], vec![0; 65_536]);
    let mut frontend = Frontend::default();
    let (mut fate, mut kept, mut silent) = (Reply::Deliver, Vec::new(), false);
    loop {
        let (bytes, to) = tokio::select! {
            read = client.read(&mut request) => {
                let bytes = read.map_or(&[][..], |n| &request[..n]);
                state.heard.lock().unwrap().extend_from_slice(bytes);
                let syncs = frontend.syncs_in(bytes);
                state.syncs.fetch_add(syncs, SeqCst);
                if syncs > 0 && spend(&state.lose_requests) {
                    return;
                }
                if syncs > 0 && fate == Reply::Deliver {
                    fate = state.fate_of_reply();
                }
                (bytes, &mut server)
            }
            read = server.read(&mut reply) => {
                let bytes = read.map_or(&[][..], |n| &reply[..n]);
                if fate == Reply::Deliver || bytes.is_empty() {
                    (bytes, &mut client)
                } else {
                    // Nothing is done to it before it is complete: by then the statement is committed.
                    kept.extend_from_slice(bytes);
                    if is_ready(&kept) {
                        match fate {
                            Reply::Halve => {
                                let _ = client.write_all(&kept[..kept.len() / 2]).await;
                                return;
                            }
                            Reply::Withhold => silent = true,
                            Reply::Lose | Reply::Deliver => return,
                        }
                    }
                    continue;
                }
            }
        };
        // What was swallowed once cannot be continued.
        silent |= state.silent.load(SeqCst) || number < state.dead.load(SeqCst);
        let piece = if state.sliced.load(SeqCst) { SLICE } else { usize::MAX };
        if bytes.is_empty() || !silent && !pass(bytes, to, piece).await {
            return;
        }
    }
}

/// Writes bytes in pieces, each on its way before the next one; whether they could be written.
async fn pass(bytes: &[u8], to: &mut TcpStream, piece: usize) -> bool {
    for slice in bytes.chunks(piece.min(bytes.len())) {
        if to.write_all(slice).await.is_err() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

/// Takes one from a counter, if there is one.
fn spend(counter: &AtomicU32) -> bool {
    counter.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
}
