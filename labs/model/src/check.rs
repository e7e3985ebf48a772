//! Runs the checker: all states of a protocol, or the shortest way to a broken promise.

use std::collections::BTreeSet;

use stateright::{Checker, DiscoveryClassification, HasDiscoveries, Model as _};

use crate::protocol::Protocol;
use crate::story::Story;

/// What a complete check saw.
#[derive(Clone, Debug)]
pub struct Checked {
    /// States, each counted once.
    pub states: usize,
    /// The longest path's steps.
    pub depth: usize,
    /// Promises that were broken.
    pub broken: BTreeSet<&'static str>,
    /// Moments that were reached.
    pub reached: BTreeSet<&'static str>,
}

/// Visits every state that a protocol can reach.
#[must_use]
pub fn everything(protocol: Protocol) -> Checked {
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let checker = protocol.checker().threads(threads).spawn_dfs().join();
    let names = |wanted: fn(&DiscoveryClassification) -> bool| {
        checker.discoveries().into_keys().filter(|name| wanted(&checker.discovery_classification(name))).collect()
    };
    Checked {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        broken: names(|what| matches!(what, DiscoveryClassification::Counterexample)),
        reached: names(|what| matches!(what, DiscoveryClassification::Example)),
    }
}

/// The shortest way to a broken promise; `None` if it holds in every state.
#[must_use]
pub fn shortest_counterexample(protocol: &Protocol, promise: &'static str) -> Option<Story> {
    let mut shortest: Option<Vec<_>> = None;
    loop {
        // The checker reports the last one of a block of states: ask again below that depth until there is none.
        let mut builder = protocol.clone().checker().finish_when(HasDiscoveries::AnyOf([promise].into()));
        if let Some(path) = &shortest {
            builder = builder.target_max_depth(path.len());
        }
        let found = builder.spawn_bfs().join().discovery(promise).map(stateright::Path::into_vec);
        match found {
            Some(path) if shortest.as_ref().is_none_or(|known| path.len() < known.len()) => shortest = Some(path),
            _ => return shortest.map(|path| Story::of(&path, &protocol.guards)),
        }
    }
}
