//! The protocol as it is: every state of a few worlds, each small enough to be visited completely.

use std::collections::BTreeSet;
use std::io::Write as _;

use model::check;
use model::guards::Guards;
use model::properties;
use model::protocol::Protocol;
use model::state::Left;
use stateright::Expectation;

const NOTHING: Left = Left { faults: 0, extra_attempts: 0, purges: 0, top_ups: 0, captures: 0 };

/// The balance at the start, what may happen, and what is so in each world.
const WORLDS: [(i8, Left, &str); 6] = [
    (1, Left { faults: 2, extra_attempts: 1, ..NOTHING }, "two faults, three workers"),
    (1, Left { faults: 2, purges: 1, ..NOTHING }, "two faults, a purge"),
    (
        2,
        Left { faults: 1, extra_attempts: 1, purges: 2, ..NOTHING },
        "a fault, three workers, two purges, money enough",
    ),
    (
        1,
        Left { faults: 1, extra_attempts: 1, purges: 1, top_ups: 1, ..NOTHING },
        "a fault, three workers, a purge, a deposit",
    ),
    (1, Left { faults: 1, extra_attempts: 2, ..NOTHING }, "a fault, two tries more than needed"),
    (1, Left { faults: 1, extra_attempts: 1, captures: 1, ..NOTHING }, "a fault, three workers, a captured request"),
];

#[test]
fn every_promise_holds_in_every_state_and_every_moment_of_interest_is_reached() {
    let mut missed: BTreeSet<_> = properties::all()
        .iter()
        .filter(|property| property.expectation == Expectation::Sometimes)
        .map(|property| property.name)
        .collect();
    assert!(!missed.is_empty());
    let mut states = 0;
    for (balance, left, world) in WORLDS {
        let checked = check::everything(Protocol { guards: Guards::all(), balance, left });
        // Straight to the stream, so that the counts are seen also when the test passes.
        let counts = format!("{:>9} states, paths of up to {} steps: {world}", checked.states, checked.depth);
        writeln!(std::io::stderr(), "{counts}").unwrap();
        assert_eq!(checked.broken, BTreeSet::new(), "{world}");
        missed.retain(|moment| !checked.reached.contains(moment));
        states += checked.states;
    }
    writeln!(std::io::stderr(), "{states:>9} states in all").unwrap();
    assert_eq!(missed, BTreeSet::new(), "never reached, so nothing was shown about them");
}
