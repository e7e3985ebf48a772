//! Each guard taken away: a promise breaks, and the shortest way there is printed.

use model::check;
use model::guards::{Guard, Guards};
use model::properties::{
    FINAL, NO_BURNT_KEY, NO_DOUBLE_DEBIT, NO_DRIFT, NO_ERROR, NOT_SENT_AWAY, ONE_ANSWER, ONE_USE, OWN_NONCE, TRUTH,
};
use model::protocol::Protocol;
use model::state::Left;

const NOTHING: Left = Left { faults: 0, extra_attempts: 0, purges: 0, top_ups: 0, captures: 0 };
/// The client sends one try more than it needs: beside the running one, or after its answer.
const DUPLICATE: Left = Left { extra_attempts: 1, ..NOTHING };
const FAULT: Left = Left { faults: 1, ..NOTHING };

/// A world: the balance at the start, and what may happen.
type World = (i8, Left);

fn protocol(removed: &[Guard], (balance, left): World) -> Protocol {
    Protocol { guards: Guards::without(removed), balance, left }
}

/// What breaks without these guards. While they stand, nothing does.
fn broken(removed: &[Guard], world: World) -> Vec<&'static str> {
    let intact = check::everything(protocol(&[], world)).broken;
    assert!(intact.is_empty(), "{intact:?}");
    check::everything(protocol(removed, world)).broken.into_iter().collect()
}

/// Asserts that one promise breaks without these guards, prints the shortest way there, and returns its text.
fn counterexample(removed: &[Guard], world: World, promise: &'static str) -> String {
    assert!(broken(removed, world).contains(&promise), "without {removed:?} it still holds that {promise}");
    let Some(story) = check::shortest_counterexample(&protocol(removed, world), promise) else {
        panic!("no path to where it does not hold that {promise}");
    };
    println!("Without {removed:?} it does not hold that {promise}:\n{story}\n");
    story.to_string()
}

/// Asserts that the story tells each of these, in this order.
fn assert_tells(story: &str, parts: &[&str]) {
    let mut rest = story;
    for part in parts {
        let Some(at) = rest.find(part) else { panic!("`{part}` is not told, or not in this order:\n{story}") };
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn without_any_unique_index_a_plain_race_pays_twice() {
    let story = counterexample(&[Guard::UniqueKey, Guard::PermanentId], (2, DUPLICATE), NO_DOUBLE_DEBIT);
    assert_tells(&story, &["its snapshot sees: no payment", "its snapshot sees: no payment", "balance 0"]);
    assert_tells(&story, &["payments: A succeeded, A succeeded", "balance 0"]);
}

#[test]
fn without_the_unique_index_on_the_key_every_lost_race_is_an_error_and_only_the_second_index_prevents_a_debit() {
    let story = counterexample(&[Guard::UniqueKey], (2, DUPLICATE), NO_ERROR);
    assert_tells(&story, &["ERROR 23505 on payments_pkey, rolled back"]);
    // The two indexes stand in for each other while the key's row lives: nothing worse happens.
    assert_eq!(broken(&[Guard::UniqueKey], (2, DUPLICATE)), [NO_ERROR]);
    assert_eq!(broken(&[Guard::UniqueKey], (2, Left { purges: 1, ..DUPLICATE })), [NO_ERROR]);
}

#[test]
fn without_the_permanent_id_a_retry_after_the_purge_pays_twice() {
    let purge = Left { purges: 1, ..DUPLICATE };
    let story = counterexample(&[Guard::PermanentId], (2, purge), NO_DOUBLE_DEBIT);
    assert_tells(&story, &["committed, balance 1", "the purge deletes the row of key A", "committed, balance 0"]);
    // While the key's row lives, its own index is enough.
    assert_eq!(broken(&[Guard::PermanentId], (2, DUPLICATE)), [] as [&str; 0]);
}

#[test]
fn without_the_permanent_id_a_lost_200_is_paid_again_after_the_purge() {
    let lost = Left { faults: 1, purges: 1, ..NOTHING };
    let story = counterexample(&[Guard::PermanentId], (2, lost), NO_DOUBLE_DEBIT);
    assert_tells(&story, &["FAULT", "committed, balance 1", "the purge deletes", "committed, balance 0"]);
}

#[test]
fn with_claim_and_debit_in_two_transactions_a_crash_burns_the_key() {
    let story = counterexample(&[Guard::OneTransaction], (1, FAULT), NO_BURNT_KEY);
    assert_tells(&story, &["the claim alone is committed", "FAULT"]);
    assert_tells(&story, &["payments: none; key rows: A"]);
    let story = counterexample(&[Guard::OneTransaction], (1, FAULT), FINAL);
    assert_tells(&story, &["the claim alone is committed", "no row: the key is taken", "no row: nothing found", "503"]);
}

#[test]
fn without_a_stored_nonce_a_captured_request_is_served_again() {
    let story = counterexample(&[Guard::StoredNonce], (1, Left { captures: 1, ..NOTHING }), ONE_USE);
    assert_tells(&story, &["a stranger sends the bytes of A1 again"]);
    assert_tells(&story, &["tells the stranger: 200"]);
    assert_tells(&story, &["tells client A: 200"]);
}

#[test]
fn without_the_nonces_tie_to_its_call_the_servers_own_retry_is_refused() {
    let story = counterexample(&[Guard::NonceOfCall], (1, FAULT), OWN_NONCE);
    assert_tells(&story, &["FAULT", "sends the claim again", "row \"nonce_reused\""]);
    assert_tells(&story, &["payments: A succeeded"]);
}

#[test]
fn without_the_second_look_the_loser_of_a_race_tells_what_is_not_true() {
    let story = counterexample(&[Guard::SecondLook], (1, DUPLICATE), TRUTH);
    assert_tells(&story, &["no row: the key is taken", "200"]);
    assert_tells(&story, &["declined; key rows"]);
}

#[test]
fn without_a_fresh_snapshot_the_second_look_finds_nothing() {
    let story = counterexample(&[Guard::FreshSnapshot], (1, DUPLICATE), NOT_SENT_AWAY);
    assert_tells(
        &story,
        &["no row: the key is taken", "a second look; its snapshot sees: no payment", "no row: nothing found"],
    );
}

#[test]
fn without_remembered_declines_one_key_is_told_402_and_200() {
    let deposit = Left { top_ups: 1, ..DUPLICATE };
    let story = counterexample(&[Guard::RememberedDecline], (0, deposit), ONE_ANSWER);
    assert_tells(&story, &["402", "somebody pays in", "200"]);
}

#[test]
fn without_the_locked_balance_two_payments_take_the_same_money() {
    let story = counterexample(&[Guard::LockedBalance], (1, NOTHING), NO_DRIFT);
    assert_tells(&story, &["payments: A succeeded, B succeeded", "balance 0"]);
}

#[test]
fn an_answer_before_the_commit_can_be_an_answer_that_never_was() {
    let story = counterexample(&[Guard::AnswerAfterCommit], (1, DUPLICATE), ONE_ANSWER);
    assert_tells(&story, &["200", "the abandoned statement of", "is rolled back", "402"]);
}

#[test]
fn a_lost_connection_that_is_called_a_failure_is_a_lie_when_the_commit_was_done() {
    let story = counterexample(&[Guard::AskAgain], (1, FAULT), TRUTH);
    assert_tells(&story, &["FAULT: the database connection of A1 breaks", "payments: A succeeded", "told: A failed"]);
}

#[test]
fn every_guard_is_taken_away_by_a_test() {
    let tests = include_str!("guards.rs");
    for guard in Guard::ALL {
        assert!(tests.contains(&format!("counterexample(&[Guard::{guard:?}], ")), "{guard:?}");
    }
}
