//! Reads the client's side of a PostgreSQL connection, as far as counting round trips needs it.

/// The messages of one client, as their bytes arrive.
#[derive(Default)]
pub(crate) struct Frontend {
    pending: Vec<u8>,
    started: bool,
}

impl Frontend {
    /// Takes bytes, and returns how many `Sync` messages they complete: one ends each round trip.
    pub(crate) fn syncs_in(&mut self, bytes: &[u8]) -> u32 {
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
        let length = self.pending.get(header..header + 4)?;
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        let end = header + length;
        if self.pending.len() < end {
            return None;
        }
        let kind = if self.started { self.pending[0] } else { 0 };
        self.started = true;
        self.pending.drain(..end);
        Some(kind)
    }
}

/// Whether the server's bytes end with `ReadyForQuery` outside a transaction: what was asked is committed.
pub(crate) fn is_ready(bytes: &[u8]) -> bool {
    bytes.ends_with(b"Z\x00\x00\x00\x05I")
}

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
