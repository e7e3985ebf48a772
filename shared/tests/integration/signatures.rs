//! Signed requests: what is refused before the database hears of it.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use payments::auth::http_signature::Nonce;
use uuid::Uuid;

use crate::support::signing::{SigningClient, register_signing_key};
use crate::support::{Answer, Api, Ledger, Pay};

/// Asserts the one 401 of all refusals that need no database.
fn assert_unauthenticated(answer: &Answer, case: &str) {
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (401, "unauthenticated"), "{case}: {answer:?}");
    assert_eq!(answer.round_trips, 0, "{case}");
    assert!(answer.headers["accept-signature"].to_str().unwrap().contains("\"content-digest\""), "{case}");
}

async fn assert_no_trace(ledger: &Ledger) {
    ledger.assert_noop().await;
    let nonces = ledger.owner.query_one("SELECT count(*) FROM nonces", &[]).await.unwrap();
    assert_eq!(nonces.get::<_, i64>(0), 0, "no nonce is consumed");
}

fn with_header(mut request: Request<Bytes>, name: &'static str, value: &str) -> Request<Bytes> {
    request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    request
}

#[tokio::test]
async fn a_signed_payment_is_executed_and_replayed_in_one_round_trip_each() {
    let (api, ledger, client, _) = Api::signed().await;
    let first = api.send(client.sign(Pay::new(ledger.t1, "k").request())).await;
    let second = api.send(client.sign(Pay::new(ledger.t1, "k").request())).await;

    assert_eq!((first.status.as_u16(), first.is_replay(), first.round_trips), (200, false, 1), "{first:?}");
    assert_eq!((second.status.as_u16(), second.is_replay(), second.round_trips), (200, true, 1), "{second:?}");
    assert_eq!(first.body, second.body);
    assert_eq!(ledger.balance(ledger.a).await, 7_500);
}

#[tokio::test]
async fn c23_requests_within_five_minutes_are_accepted_and_others_refused() {
    let (api, ledger, client, _) = Api::signed().await;
    // The exact second is tested where the clock is given: here the clock may tick between signing and checking.
    for offset in [-298, 0, 300] {
        let request = client.sign_with(Pay::fresh(ledger.t1).amount(1).request(), offset, &Nonce::random());
        assert_eq!(api.send(request).await.status.as_u16(), 200, "{offset} s");
    }
    for offset in [-301, 303, -86_400, 1_000_000_000] {
        let request = client.sign_with(Pay::fresh(ledger.t1).request(), offset, &Nonce::random());
        assert_unauthenticated(&api.send(request).await, &format!("{offset} s"));
    }
    assert_eq!(ledger.payments(ledger.t1).await, 3);
}

#[tokio::test]
async fn c23_a_created_that_is_no_number_in_milliseconds_absent_or_doubled_is_refused() {
    let (api, ledger, client, _) = Api::signed().await;
    let signed = client.sign(Pay::fresh(ledger.t1).request());
    let input = signed.headers()["signature-input"].to_str().unwrap().to_owned();
    let created = input.split(';').find(|part| part.starts_with("created=")).unwrap().to_owned();
    for replacement in [
        "created=\"1\"",
        "created=1.5",
        "created",
        &format!("{created}000"),
        "tag=\"x\"",
        &format!("{created};{created}"),
    ] {
        let request = with_header(signed.clone(), "signature-input", &input.replace(&created, replacement));
        assert_unauthenticated(&api.send(request).await, replacement);
    }
    assert_no_trace(&ledger).await;
}

#[tokio::test]
async fn c26_any_signed_part_that_is_changed_is_refused_and_leaves_no_trace() {
    let (api, ledger, client, _) = Api::signed().await;
    let nonce = Nonce::random();
    let signed = client.sign_with(Pay::new(ledger.t1, "k").request(), 0, &nonce);
    let changed_body = |body: &str| {
        let (parts, _) = signed.clone().into_parts();
        Request::from_parts(parts, Bytes::from(body.to_owned()))
    };
    let changed_uri = |uri: &str| {
        let mut request = signed.clone();
        *request.uri_mut() = uri.parse().unwrap();
        request
    };
    let body = Pay::new(ledger.t1, "k").body();
    let input = signed.headers()["signature-input"].to_str().unwrap();
    let digest_of_another_body = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:";
    for (case, request) in [
        ("body byte", changed_body(&body.replace("2500", "2501"))),
        ("white space in the body", changed_body(&format!("{body} "))),
        ("path", changed_uri("/api/v1/payments/")),
        ("query", changed_uri("/api/v1/payments?x=1")),
        ("idempotency key", with_header(signed.clone(), "idempotency-key", "other")),
        ("content type", with_header(signed.clone(), "content-type", "application/json; charset=utf-8")),
        ("another media type", with_header(signed.clone(), "content-type", "text/plain")),
        ("digest", with_header(signed.clone(), "content-digest", digest_of_another_body)),
        ("created", with_header(signed.clone(), "signature-input", &input.replace(";created=1", ";created=2"))),
        (
            "nonce",
            with_header(signed.clone(), "signature-input", &input.replace(nonce.as_str(), "another-nonce-16-chars")),
        ),
        (
            "key id",
            with_header(
                signed.clone(),
                "signature-input",
                &input.replace(&ledger.t1.to_string(), &ledger.t2.to_string()),
            ),
        ),
        ("key version", with_header(signed.clone(), "signature-input", &input.replace(".1\"", ".2\""))),
        ("coverage", with_header(signed.clone(), "signature-input", &input.replace(" \"content-digest\"", ""))),
        (
            "order of coverage",
            with_header(
                signed.clone(),
                "signature-input",
                &input.replace("\"@method\" \"@path\"", "\"@path\" \"@method\""),
            ),
        ),
        ("algorithm", with_header(signed.clone(), "signature-input", &input.replace("hmac-sha256", "hmac-sha512"))),
    ] {
        assert_unauthenticated(&api.send(request).await, case);
    }
    assert_no_trace(&ledger).await;

    // A nonce that was seen with a bad signature is still its owner's.
    assert_eq!(api.send(signed.clone()).await.status.as_u16(), 200);
}

#[tokio::test]
async fn c26_the_method_is_signed() {
    let (api, ledger, client, _) = Api::signed().await;
    let mut request = client.sign(Pay::fresh(ledger.t1).request());
    *request.method_mut() = http::Method::PUT;
    let answer = api.send(request).await;
    assert_unauthenticated(&answer, "method");
    assert_no_trace(&ledger).await;
}

#[tokio::test]
async fn missing_doubled_malformed_and_oversized_signature_headers_are_refused() {
    let (api, ledger, client, _) = Api::signed().await;
    let signed = client.sign(Pay::fresh(ledger.t1).request());
    for name in ["signature-input", "signature", "content-digest"] {
        let value = signed.headers()[name].clone();
        let mut missing = signed.clone();
        missing.headers_mut().remove(name);
        let mut doubled = signed.clone();
        doubled.headers_mut().append(name, value.clone());
        let joined = format!("{0}, {0}", value.to_str().unwrap());
        for (case, request) in [
            ("missing", missing),
            ("doubled", doubled),
            ("joined", with_header(signed.clone(), name, &joined)),
            ("empty", with_header(signed.clone(), name, "")),
            ("malformed", with_header(signed.clone(), name, "sig1=((((;;;\"")),
            ("oversized", with_header(signed.clone(), name, &format!("sig1=:{}:", "A".repeat(100_000)))),
        ] {
            assert_unauthenticated(&api.send(request).await, &format!("{name} {case}"));
        }
    }
    assert_no_trace(&ledger).await;
}

#[tokio::test]
async fn two_signatures_and_unknown_components_are_refused() {
    let (api, ledger, client, _) = Api::signed().await;
    let signed = client.sign(Pay::fresh(ledger.t1).request());
    let input = signed.headers()["signature-input"].to_str().unwrap();
    let signature = signed.headers()["signature"].to_str().unwrap();
    let two = with_header(signed.clone(), "signature-input", &format!("{input}, {}", input.replace("sig1=", "sig2=")));
    let two = with_header(two, "signature", &format!("{signature}, {}", signature.replace("sig1=", "sig2=")));
    assert_unauthenticated(&api.send(two).await, "two signatures");
    for component in ["@unknown", "@status", "x-absent", "Content-Type", "", "content-type\" \"content-type"] {
        let request = with_header(
            signed.clone(),
            "signature-input",
            &input.replace("(\"@method\"", &format!("(\"{component}\" \"@method\"")),
        );
        assert_unauthenticated(&api.send(request).await, component);
    }
    assert_no_trace(&ledger).await;
}

#[tokio::test]
async fn an_unknown_tenant_and_a_bad_mac_read_the_same() {
    let (api, ledger, client, _) = Api::signed().await;
    let stranger = SigningClient::of_master(crate::support::signing::OTHER_MASTER, Uuid::new_v4(), 1);
    let forged = SigningClient::of_master(crate::support::signing::OTHER_MASTER, ledger.t1, 1);
    // Its secret is right, but the tenant was never created: only the database knows.
    let unregistered = SigningClient::new(Uuid::new_v4(), 1);
    let unissued = SigningClient::new(ledger.t1, 7);
    let request = || Pay::new(ledger.t1, "k").request();
    let reference = api.send(forged.sign(request())).await;
    assert_eq!(reference.code(), "unauthenticated");
    for client in [stranger, unregistered, unissued] {
        let mut answer = api.send(client.sign(request())).await;
        answer.headers.insert("x-request-id", reference.headers["x-request-id"].clone());
        answer.round_trips = reference.round_trips;
        assert_eq!(answer, reference);
    }
    assert_no_trace(&ledger).await;
    assert_eq!(api.send(client.sign(request())).await.status.as_u16(), 200);
}

#[tokio::test]
async fn an_unsigned_request_is_refused_at_every_endpoint() {
    let (api, ledger, _, _) = Api::signed().await;
    let post = api.pay(Pay::fresh(ledger.t1)).await;
    let get = api.get(ledger.t1, &format!("/api/v1/payments/{}", Uuid::new_v4())).await;
    let find = api.get(ledger.t1, "/api/v1/payments?idempotency_key=k").await;
    for answer in [post, get, find] {
        answer.assert_problem(401, "unauthenticated");
        assert_eq!(answer.round_trips, 0);
        assert!(answer.headers.contains_key("accept-signature"));
    }
    assert_no_trace(&ledger).await;
}

#[tokio::test]
async fn look_ups_are_signed_with_their_query() {
    let (api, ledger, client, _) = Api::signed().await;
    let paid = api.send(client.sign(Pay::new(ledger.t1, "k").request())).await;
    let get = |path: &str| Request::get(path).body(Bytes::new()).unwrap();

    let by_id = api.send(client.sign(get(&format!("/api/v1/payments/{}", paid.payment_id())))).await;
    let by_key = client.sign(get("/api/v1/payments?idempotency_key=k"));
    let found = api.send(by_key.clone()).await;
    assert_eq!((by_id.status.as_u16(), &by_id.body), (200, &paid.body));
    assert_eq!((found.status.as_u16(), &found.body), (200, &paid.body));

    let mut tampered = by_key;
    *tampered.uri_mut() = "/api/v1/payments?idempotency_key=other".parse().unwrap();
    api.send(tampered).await.assert_problem(401, "unauthenticated");

    register_signing_key(&ledger.owner, ledger.t2, 1).await;
    let foreign = SigningClient::new(ledger.t2, 1).sign(get(&format!("/api/v1/payments/{}", paid.payment_id())));
    api.send(foreign).await.assert_problem(404, "payment_not_found");
}

#[tokio::test]
async fn bad_input_of_a_signed_request_reads_as_in_internal_mode() {
    let (api, ledger, client, _) = Api::signed().await;
    let pay = Pay::fresh(ledger.t1);
    let cases = [
        (client.sign(pay.request_with_body("{}")), 400, "body_invalid"),
        (client.sign(pay.clone().amount(0).request()), 400, "amount_invalid"),
        (client.sign(with_header(pay.request(), "content-type", "text/plain")), 415, "media_type_unsupported"),
        (client.sign(pay.request_with_body(" ".repeat(65_537))), 413, "body_too_large"),
        (client.sign(with_header(pay.request(), "idempotency-key", "a,b")), 400, "idempotency_key_invalid"),
    ];
    for (request, status, code) in cases {
        api.send(request).await.assert_problem(status, code);
    }
    assert_no_trace(&ledger).await;
}
