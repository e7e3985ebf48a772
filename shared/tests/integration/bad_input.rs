//! What is not a payment request: a clear 4xx problem, no round trip, nothing stored.

use bytes::Bytes;
use http::{HeaderValue, Request};

use crate::support::api::RECIPIENT;
use crate::support::{Api, Ledger, Pay};

/// Asserts that a request is refused before the database, and that its key is still free afterwards.
async fn assert_refused(api: &Api, ledger: &Ledger, request: Request<Bytes>, status: u16, code: &str) {
    let what = format!("{request:?}");
    let answer = api.send(request).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code), "{what:.300}");
    assert_eq!(answer.round_trips, 0);
    assert!(answer.headers.contains_key("x-request-id"));
    let body = answer.json();
    assert_eq!((body["status"].as_u64(), body["retryable"].as_bool()), (Some(status.into()), Some(false)));
    ledger.assert_noop().await;
}

async fn assert_bodies_refused(bodies: &[Bytes], code: &str) {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    for body in bodies {
        assert_refused(&api, &ledger, request.request_with_body(body.clone()), 400, code).await;
    }
    api.pay(request).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

/// A body with these members besides the recipient.
fn with(members: &str) -> Bytes {
    format!(r#"{{{members},"recipient_id":"{RECIPIENT}"}}"#).into()
}

#[tokio::test]
async fn only_integers_are_amounts() {
    let amounts = [
        "2500.0",
        "2.5e3",
        "25E2",
        "1e400",
        "\"2500\"",
        "true",
        "null",
        "[2500]",
        "{}",
        "-0",
        "0x10",
        "+5",
        "01",
        "NaN",
        "",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999999",
    ];
    let bodies = amounts.map(|amount| with(&format!("\"amount\":{amount}")));
    assert_bodies_refused(&bodies, "body_invalid").await;
}

#[tokio::test]
async fn c11_an_amount_out_of_range_is_refused_and_the_key_is_still_free() {
    let amounts = ["0", "-1", "-2500", "1000000000000001", "9223372036854775807", "-9223372036854775808"];
    let bodies = amounts.map(|amount| with(&format!("\"amount\":{amount}")));
    assert_bodies_refused(&bodies, "amount_invalid").await;
}

#[tokio::test]
async fn duplicate_unknown_and_missing_members_are_refused() {
    let bodies = [
        with(r#""amount":2500,"amount":2500"#),
        with(r#""amount":1,"\u0061mount":2500"#),
        with(r#""amount":2500,"currency":null,"currency":"EUR""#),
        with(r#""amount":2500,"account_id":null,"account_id":null"#),
        with(r#""amount":2500,"tenant_id":"11111111-2222-3333-4444-555555555555""#),
        with(r#""amount":2500,"note":"x""#),
        with(r#""Amount":2500"#),
        with(r#""amount":2500,"__proto__":{}"#),
        Bytes::from(r#"{"amount":2500}"#),
        Bytes::from(format!(r#"{{"recipient_id":"{RECIPIENT}"}}"#)),
        Bytes::from("{}"),
    ];
    assert_bodies_refused(&bodies, "body_invalid").await;
}

#[tokio::test]
async fn what_is_not_one_json_object_in_utf_8_is_refused() {
    let good = with(r#""amount":2500"#);
    let around = |before: &[u8], after: &[u8]| Bytes::from([before, &good[..], after].concat());
    let deep = format!("\"amount\":{}1{}", "[".repeat(30_000), "]".repeat(30_000));
    let bodies = [
        around(b"", b"{}"),
        around(b"", b"\0"),
        around(b"\0", b""),
        around(b"\xef\xbb\xbf", b""),
        around(b"[", b"]"),
        around(b"", b","),
        around(b"// a comment\n", b""),
        with(&deep),
        Bytes::from("{".repeat(60_000)),
        Bytes::from(format!(r#"[2500,"{RECIPIENT}",null,null]"#)),
        Bytes::from(""),
        Bytes::from(" "),
        Bytes::from("null"),
        Bytes::from("{"),
        Bytes::from("amount=2500"),
        Bytes::from(good.iter().flat_map(|byte| [*byte, 0]).collect::<Vec<u8>>()),
        Bytes::from_static(b"{\"amount\":2500,\"recipient_id\":\"\xff\"}"),
        Bytes::from_static(br#"{"amount":2500,"recipient_id":"\ud800"}"#),
        Bytes::from_static(b"{\"amount\":2500,\"recipient_id\":\"\xed\xa0\x80\"}"),
    ];
    assert_bodies_refused(&bodies, "body_invalid").await;
}

/// Texts that are not UUIDs in the hyphenated form.
const NOT_UUIDS: [&str; 8] = [
    "",
    "x",
    "11111111222233334444555555555555",
    "{11111111-2222-3333-4444-555555555555}",
    "urn:uuid:11111111-2222-3333-4444-555555555555",
    "11111111-2222-3333-4444-55555555555g",
    r"11111111-2222-3333-4444-55555555555\u0000",
    "' OR 1=1 --",
];

#[tokio::test]
async fn a_recipient_that_is_not_a_uuid_is_refused() {
    let bodies = NOT_UUIDS.map(|text| Bytes::from(format!(r#"{{"amount":2500,"recipient_id":"{text}"}}"#)));
    assert_bodies_refused(&bodies, "recipient_invalid").await;
}

#[tokio::test]
async fn an_account_that_is_not_a_uuid_is_refused() {
    let bodies = NOT_UUIDS.map(|text| with(&format!(r#""amount":2500,"account_id":"{text}""#)));
    assert_bodies_refused(&bodies, "account_invalid").await;
}

#[tokio::test]
async fn a_currency_that_is_not_three_upper_case_letters_is_refused() {
    let texts = ["", "eur", "EU", "EURO", "E1R", "ÉU", r"EU\u0000", "€"];
    let bodies = texts.map(|text| with(&format!(r#""amount":2500,"currency":"{text}""#)));
    assert_bodies_refused(&bodies, "currency_invalid").await;
}

#[tokio::test]
async fn a_body_of_64_kib_is_read_and_one_byte_more_is_not() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let mut body = request.body().into_bytes();
    body.resize(64 * 1024, b' ');

    let too_large = request.request_with_body([&body[..], b" "].concat());
    assert_refused(&api, &ledger, too_large, 413, "body_too_large").await;

    api.send(request.request_with_body(body)).await.assert_executed();
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn only_plain_json_is_an_accepted_media_type() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    for content_type in [
        &b"text/plain"[..],
        b"",
        b"application/x-www-form-urlencoded",
        b"application/jsonx",
        b"application/problem+json",
        b"application/json; charset=latin1",
        b"application/json, text/plain",
        b"application/json\xff",
    ] {
        let mut refused = request.request();
        refused.headers_mut().insert("content-type", HeaderValue::from_bytes(content_type).unwrap());
        assert_refused(&api, &ledger, refused, 415, "media_type_unsupported").await;
    }
    let mut absent = request.request();
    absent.headers_mut().remove("content-type");
    assert_refused(&api, &ledger, absent, 415, "media_type_unsupported").await;
    let mut twice = request.request();
    twice.headers_mut().append("content-type", HeaderValue::from_static("application/json"));
    assert_refused(&api, &ledger, twice, 415, "media_type_unsupported").await;
}

#[tokio::test]
async fn an_encoded_body_is_refused() {
    let (api, ledger) = Api::with_ledger().await;
    for coding in ["gzip", "identity", "br", ""] {
        let mut request = Pay::new(ledger.t1, "k").request();
        request.headers_mut().insert("content-encoding", HeaderValue::from_static(coding));
        assert_refused(&api, &ledger, request, 415, "content_encoding_unsupported").await;
    }
}

#[tokio::test]
async fn a_caller_who_names_no_tenant_or_not_one_is_not_known() {
    let (api, ledger) = Api::with_ledger().await;
    let request = Pay::new(ledger.t1, "k");
    let tenant = ledger.t1.to_string();
    let (simple, braced) = (ledger.t1.simple().to_string(), ledger.t1.braced().to_string());
    for name in [&simple, &braced, "", "x", &format!("{tenant},{tenant}")] {
        let mut refused = request.request();
        refused.headers_mut().insert("tenant-id", name.parse().unwrap());
        assert_refused(&api, &ledger, refused, 401, "unauthenticated").await;
    }
    let mut absent = request.request();
    absent.headers_mut().remove("tenant-id");
    assert_refused(&api, &ledger, absent, 401, "unauthenticated").await;
    let mut twice = request.request();
    twice.headers_mut().append("tenant-id", tenant.parse().unwrap());
    assert_refused(&api, &ledger, twice, 401, "unauthenticated").await;
}
