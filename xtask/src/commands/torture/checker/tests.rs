//! Each rule, and that it can fail.

use super::*;
use crate::commands::torture::history::{Answer, Attempt, Sent, Wish};

const ACCOUNT: Uuid = Uuid::from_u128(0xa);
const RECIPIENT: Uuid = Uuid::from_u128(0xb);
const PAYMENT: Uuid = Uuid::from_u128(0xc);

fn wish() -> Wish {
    Wish { key: "k".to_owned(), tenant: 0, account: ACCOUNT, names_account: true, recipient: RECIPIENT, amount: 25 }
}

fn answer(status: u16, body: &str) -> Answer {
    let retry_after = matches!(status, 409 | 503);
    Answer { status, replayed: false, retry_after, request_id: true, body: body.into() }
}

fn paid() -> Answer {
    let body = format!(
        r#"{{"payment_id":"{PAYMENT}","status":"succeeded","account_id":"{ACCOUNT}","recipient_id":"{RECIPIENT}","amount":25,"currency":"EUR","created_at":"2026-11-30T06:50:30.21Z"}}"#
    );
    answer(200, &body)
}

fn declined() -> Answer {
    answer(402, &format!(r#"{{"code":"insufficient_funds","status":"declined","payment_id":"{PAYMENT}"}}"#))
}

fn at(sent: Sent, sent_ms: u64, answer: Option<Answer>) -> Attempt {
    Attempt { sent, sent_ms, heard_ms: sent_ms + 1, answer }
}

fn journey(attempts: Vec<Attempt>) -> Journey {
    Journey { wish: wish(), attempts, wants_answer: true }
}

fn row(id: Uuid) -> PaymentRow {
    PaymentRow {
        id,
        account: ACCOUNT,
        recipient: RECIPIENT,
        amount: 25,
        currency: "EUR".to_owned(),
        status: "succeeded".to_owned(),
        created_at: "2026-11-30T06:50:30.210000Z".to_owned(),
    }
}

fn dump() -> Dump {
    Dump {
        balances: [(ACCOUNT, 75)].into(),
        paid_in: [(ACCOUNT, 100)].into(),
        payments: vec![row(PAYMENT)],
        keys: vec![(PAYMENT, "succeeded".to_owned())],
        purgeable: HashSet::new(),
    }
}

/// The flaws found in one journey of these attempts.
fn flaws(attempts: Vec<Attempt>, dump: &Dump) -> Vec<Flaw> {
    check(&[journey(attempts)], dump, 1000).flaws().into_keys().collect()
}

fn once() -> Vec<Attempt> {
    vec![at(Sent::Payment, 0, None), at(Sent::Payment, 10, Some(paid()))]
}

#[test]
fn a_payment_whose_answer_was_lost_once_is_fine() {
    assert_eq!(flaws(once(), &dump()), []);
}

#[test]
fn a_second_payment_of_one_key_is_a_double_debit() {
    let mut dump = dump();
    dump.payments.push(row(Uuid::from_u128(0xd)));
    dump.keys.push((Uuid::from_u128(0xd), "succeeded".to_owned()));
    dump.balances.insert(ACCOUNT, 50);
    assert_eq!(flaws(once(), &dump), [Flaw::DoubleDebit]);
}

#[test]
fn money_that_is_gone_without_a_payment_is_drift() {
    let mut dump = dump();
    dump.balances.insert(ACCOUNT, 50);
    let findings = check(&[journey(once())], &dump, 1000);
    assert_eq!((findings.flaws().into_keys().collect::<Vec<_>>(), findings.drift), (vec![Flaw::BalanceDrift], 25));
}

#[test]
fn a_promise_that_the_database_does_not_keep_is_a_lost_answer() {
    let empty = Dump { balances: [(ACCOUNT, 100)].into(), paid_in: [(ACCOUNT, 100)].into(), ..Dump::default() };
    assert_eq!(flaws(once(), &empty), [Flaw::LostAnswer]);
    assert_eq!(flaws(vec![at(Sent::Payment, 0, Some(declined()))], &empty), [Flaw::LostAnswer]);
}

#[test]
fn whoever_asks_to_the_end_must_be_answered_in_time() {
    let nothing = vec![at(Sent::Payment, 0, None)];
    assert_eq!(flaws(nothing.clone(), &dump()), [Flaw::LostAnswer]);
    assert_eq!(flaws(vec![at(Sent::Payment, 1000, Some(paid()))], &dump()), [Flaw::LostAnswer]);
    let gone = Journey { wants_answer: false, ..journey(nothing) };
    assert_eq!(check(&[gone], &dump(), 1000).list, []);
}

#[test]
fn other_values_than_wished_or_told_are_a_contradiction() {
    let mut other = dump();
    other.payments.iter_mut().for_each(|payment| payment.amount = 24);
    other.balances.insert(ACCOUNT, 76);
    assert_eq!(flaws(once(), &other), [Flaw::Contradiction]);
    let mut later = dump();
    later.payments.iter_mut().for_each(|payment| payment.created_at = "2026-11-30T06:50:31Z".to_owned());
    assert_eq!(flaws(once(), &later), [Flaw::Contradiction]);
}

#[test]
fn outcomes_of_one_key_must_be_the_same_bytes() {
    let mut attempts = once();
    let mut spaced = paid();
    spaced.body = spaced.body.replace(",\"", ", \"");
    attempts.push(at(Sent::Payment, 20, Some(spaced)));
    assert_eq!(flaws(attempts, &dump()), [Flaw::Contradiction]);
}

#[test]
fn another_amount_under_the_key_must_be_refused_and_the_same_must_not() {
    let reused = answer(422, r#"{"code":"idempotency_key_reused"}"#);
    let mut attempts = once();
    attempts.push(at(Sent::OtherAmount, 20, Some(reused.clone())));
    assert_eq!(flaws(attempts, &dump()), []);
    let mut attempts = once();
    attempts.push(at(Sent::OtherAmount, 20, Some(paid())));
    assert_eq!(flaws(attempts, &dump()), [Flaw::Contradiction]);
    let mut attempts = once();
    attempts.push(at(Sent::Payment, 20, Some(reused)));
    assert_eq!(flaws(attempts, &dump()), [Flaw::Contradiction]);
}

#[test]
fn a_settled_payment_must_be_found_by_its_key() {
    let missing = answer(404, r#"{"code":"payment_not_found"}"#);
    let mut attempts = vec![at(Sent::LookUp, 0, Some(missing.clone()))];
    attempts.extend(once());
    assert_eq!(flaws(attempts.clone(), &dump()), []);
    attempts.push(at(Sent::LookUp, 20, Some(missing)));
    assert_eq!(flaws(attempts, &dump()), [Flaw::LostAnswer]);
}

#[test]
fn keys_and_payments_come_in_pairs_unless_purged() {
    let mut dump = dump();
    dump.keys.clear();
    assert_eq!(flaws(once(), &dump), [Flaw::HalfDone]);
    dump.purgeable.insert(PAYMENT);
    assert_eq!(flaws(once(), &dump), []);
    dump.keys = vec![(PAYMENT, "declined".to_owned())];
    assert_eq!(flaws(once(), &dump), [Flaw::HalfDone]);
    dump.keys = vec![(PAYMENT, "succeeded".to_owned()), (Uuid::from_u128(0xe), "succeeded".to_owned())];
    assert_eq!(flaws(once(), &dump), [Flaw::HalfDone]);
}

#[test]
fn a_payment_that_nobody_wished_for_is_found() {
    assert_eq!(check(&[], &dump(), 1000).flaws().into_keys().collect::<Vec<_>>(), [Flaw::HalfDone]);
}

#[test]
fn undocumented_answers_and_words_of_the_inside_are_found() {
    let with = |answer| {
        let mut attempts = once();
        attempts.push(at(Sent::Payment, 20, Some(answer)));
        flaws(attempts, &dump())
    };
    assert_eq!(with(answer(500, r#"{"code":"internal_error"}"#)), [Flaw::Undocumented]);
    assert_eq!(with(answer(409, r#"{"code":"service_unavailable"}"#)), [Flaw::Undocumented]);
    let busy = answer(503, r#"{"code":"service_unavailable"}"#);
    assert_eq!(with(busy.clone()), []);
    assert_eq!(with(Answer { retry_after: false, ..busy.clone() }), [Flaw::Undocumented]);
    let leak = r#"{"code":"service_unavailable","detail":"duplicate key value violates idempotency_keys_pkey"}"#;
    assert_eq!(with(Answer { body: leak.into(), ..busy.clone() }), [Flaw::Undocumented]);
    let state = r#"{"code":"service_unavailable","detail":"ERROR 23505: refused"}"#;
    assert_eq!(with(Answer { body: state.into(), ..busy.clone() }), [Flaw::Undocumented]);
    // An id in which the same digits happen to be.
    let id = r#"{"code":"service_unavailable","instance":"2b6b0052-0540-58a5-92b2-23505d4480a2"}"#;
    assert_eq!(with(Answer { body: id.into(), ..busy.clone() }), []);
    assert_eq!(with(Answer { request_id: false, body: String::new(), ..busy }), []);
    assert_eq!(with(Answer { request_id: false, ..answer(500, "") }), [Flaw::Undocumented]);
}
