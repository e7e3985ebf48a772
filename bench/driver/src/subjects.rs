//! Who pays, and with which keys. `cargo xtask bench` creates the same tenant and accounts by the same rule.

use uuid::Uuid;

/// `00000000-0000-4000-8000-` and twelve digits.
const PREFIX: u128 = 0x0000_0000_0000_4000_8000_0000_0000_0000;
/// The tenant that owns every account.
pub(crate) const TENANT: Uuid = Uuid::from_u128(PREFIX + 0xffff_ffff_ffff);
/// The recipient of every payment.
pub(crate) const RECIPIENT: Uuid = Uuid::from_u128(PREFIX + 0xffff_ffff_fffe);
/// Keys that a load of replays sends again and again.
const SETTLED_KEYS: u64 = 1_000;
/// Their names lie where no random UUID does: version 8.
const SETTLED_PREFIX: u128 = 0x5e77_1ed0_0000_8000_8000_0000_0000_0000;

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// New payments from many accounts.
    Spread,
    /// New payments from one account.
    Hot,
    /// Settled payments, asked for again.
    Replay,
}

/// One payment to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// The idempotency key.
    pub(crate) key: Uuid,
    /// The account that pays.
    pub(crate) account: Uuid,
}

/// The next payments of one connection.
pub(crate) struct Wishes {
    kind: Kind,
    accounts: u64,
    number: u64,
    step: u64,
}

impl Wishes {
    /// Those of connection `first` of `connections`, on so many accounts beside the hot one.
    pub(crate) fn new(kind: Kind, accounts: u64, first: u64, connections: u64) -> Self {
        Self { kind, accounts, number: first, step: connections }
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Wish {
        let number = self.number;
        self.number += self.step;
        match self.kind {
            Kind::Spread => Wish { key: Uuid::new_v4(), account: account(1 + random_below(self.accounts)) },
            Kind::Hot => Wish { key: Uuid::new_v4(), account: account(0) },
            Kind::Replay => settled(number % SETTLED_KEYS, self.accounts),
        }
    }
}

/// The payments that a load of replays needs settled, those of this connection.
pub(crate) fn to_settle(accounts: u64, first: u64, connections: u64) -> impl Iterator<Item = Wish> {
    let step = usize::try_from(connections).unwrap_or(usize::MAX);
    (first..SETTLED_KEYS).step_by(step).map(move |number| settled(number, accounts))
}

fn settled(number: u64, accounts: u64) -> Wish {
    Wish { key: Uuid::from_u128(SETTLED_PREFIX + u128::from(number)), account: account(1 + number % accounts) }
}

/// Account 0 is the hot one.
fn account(number: u64) -> Uuid {
    Uuid::from_u128(PREFIX + u128::from(number))
}

fn random_below(limit: u64) -> u64 {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    // The upper bits: those below hold the version.
    (high >> 16) % limit
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_connections_settle_every_key_that_they_replay() {
        let settled: HashSet<Uuid> = (0..3).flat_map(|first| to_settle(10, first, 3)).map(|wish| wish.key).collect();
        let mut replays: Vec<Wishes> = (0..3).map(|first| Wishes::new(Kind::Replay, 10, first, 3)).collect();
        assert_eq!(settled.len(), 1_000);
        assert!((0..2_000).all(|_| replays.iter_mut().all(|wishes| settled.contains(&wishes.next().key))));
    }

    #[test]
    fn a_spread_load_never_touches_the_hot_account_and_a_hot_one_no_other() {
        let mut spread = Wishes::new(Kind::Spread, 5, 0, 1);
        let mut hot = Wishes::new(Kind::Hot, 5, 0, 1);
        let accounts: HashSet<Uuid> = (0..1_000).map(|_| spread.next().account).collect();
        assert_eq!(accounts, (1..=5).map(account).collect());
        assert_eq!(hot.next().account, account(0));
    }
}
