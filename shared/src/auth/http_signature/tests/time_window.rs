//! The time window around `created`, and `expires`.

use super::{CREATED, PARAMETERS, POST_COMPONENTS, Request, SignatureError, TestResult};

#[test]
fn created_300_seconds_away_is_accepted_and_301_is_refused() -> TestResult {
    let request = Request::signed_payment()?;
    for now in [CREATED - 300, CREATED, CREATED + 300] {
        assert!(request.verify_at(now).is_ok(), "{now}");
    }
    for now in [0, CREATED - 301, CREATED + 301] {
        assert_eq!(request.verify_at(now), Err(SignatureError::OutsideTimeWindow), "{now}");
    }
    Ok(())
}

#[test]
fn expires_is_respected_to_the_second() -> TestResult {
    let request = Request::payment()?.sign_as(&format!("({POST_COMPONENTS}){PARAMETERS};expires=1700000060"))?;
    assert!(request.verify_at(CREATED + 60).is_ok());
    assert_eq!(request.verify_at(CREATED + 61), Err(SignatureError::Expired));
    Ok(())
}

#[test]
fn a_late_expires_does_not_widen_the_window() -> TestResult {
    let request = Request::payment()?.sign_as(&format!("({POST_COMPONENTS}){PARAMETERS};expires=1800000000"))?;
    assert_eq!(request.verify_at(CREATED + 301), Err(SignatureError::OutsideTimeWindow));
    Ok(())
}

#[test]
fn an_expires_that_is_not_a_whole_number_is_refused() -> TestResult {
    for expires in ["1800000000.5", "\"1800000000\"", "later"] {
        let request = Request::payment()?.sign_as(&format!("({POST_COMPONENTS}){PARAMETERS};expires={expires}"))?;
        assert_eq!(request.verify(), Err(SignatureError::InvalidParameter("expires")), "{expires}");
    }
    Ok(())
}

#[test]
fn the_time_is_looked_at_last() -> TestResult {
    let mut request = Request::signed_payment()?;
    request.body.push(b' ');
    assert_eq!(request.verify_at(CREATED + 301), Err(SignatureError::DigestMismatch));
    request.set("idempotency-key", "another-key")?;
    assert_eq!(request.verify_at(CREATED + 301), Err(SignatureError::MacMismatch));
    Ok(())
}
