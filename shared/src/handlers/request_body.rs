//! The body of `POST /api/v1/payments`: strict JSON in, a validated withdrawal out.

use http::{HeaderMap, header};
use serde::Deserialize;
use uuid::Uuid;

use crate::domain::{AccountId, Currency, MinorUnits, RecipientId, Withdrawal, hyphenated_uuid};

use super::{Code, Problem};

/// The largest body of a request, in bytes.
pub const BODY_LIMIT: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithdrawalBody {
    amount: i64,
    recipient_id: String,
    currency: Option<String>,
    account_id: Option<String>,
}

/// Refuses a body that is too large to be looked at.
pub(super) fn check_size(body: &[u8]) -> Result<(), Problem> {
    if body.len() > BODY_LIMIT {
        return Err(Problem::new(
            Code::BodyTooLarge,
            format!("The body has {} bytes; {BODY_LIMIT} are allowed.", body.len()),
        ));
    }
    Ok(())
}

/// Refuses a request without `Content-Type` before anything else: it could not be signed either.
pub(super) fn check_media_type_is_given(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key(header::CONTENT_TYPE) { Ok(()) } else { Err(unsupported_media_type()) }
}

/// Refuses a body that is not plain `application/json` (RFC 8259), whose only charset is UTF-8.
pub(super) fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(Code::ContentEncodingUnsupported, "Send the body without Content-Encoding."));
    }
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let json = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().is_ok_and(is_json),
        _ => false,
    };
    if json { Ok(()) } else { Err(unsupported_media_type()) }
}

fn unsupported_media_type() -> Problem {
    Problem::new(Code::MediaTypeUnsupported, "Send the body as application/json.")
}

fn is_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    essence.eq_ignore_ascii_case("application/json")
        && parts.all(|parameter| {
            parameter.eq_ignore_ascii_case("charset=utf-8") || parameter.eq_ignore_ascii_case("charset=\"utf-8\"")
        })
}

/// The withdrawal that the body asks for.
pub(super) fn parse(body: &[u8]) -> Result<Withdrawal, Problem> {
    // Serde reads a struct from a JSON array as well; the contract does not.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::new(
            Code::BodyInvalid,
            "The body must be a JSON object in UTF-8, without a byte order mark.",
        ));
    }
    let body: WithdrawalBody =
        serde_json::from_slice(body).map_err(|error| Problem::new(Code::BodyInvalid, error.to_string()))?;
    let currency = body.currency.as_deref().map(Currency::parse).transpose();
    Ok(Withdrawal {
        account: match body.account_id.as_deref() {
            Some(text) => Some(AccountId(uuid(text, "account_id", Code::AccountInvalid)?)),
            None => None,
        },
        recipient: RecipientId(uuid(&body.recipient_id, "recipient_id", Code::RecipientInvalid)?),
        amount: MinorUnits::new(body.amount).map_err(|error| Problem::new(Code::AmountInvalid, error.to_string()))?,
        currency: currency.map_err(|error| Problem::new(Code::CurrencyInvalid, error.to_string()))?,
    })
}

fn uuid(text: &str, member: &'static str, code: Code) -> Result<Uuid, Problem> {
    hyphenated_uuid(text).ok_or_else(|| Problem::new(code, format!("{member} must be a UUID in its hyphenated form")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPIENT: &str = "11111111-2222-3333-4444-555555555555";

    fn code_of(body: &str) -> Option<Code> {
        parse(body.as_bytes()).err().map(|problem| problem.code)
    }

    fn with_amount(amount: &str) -> String {
        format!(r#"{{"amount":{amount},"recipient_id":"{RECIPIENT}"}}"#)
    }

    #[test]
    fn c7_order_and_white_space_of_members_do_not_matter() {
        let plain = parse(with_amount("2500").as_bytes()).unwrap();
        let other = format!("\n {{ \"recipient_id\" :\t\"{RECIPIENT}\" , \"amount\" : 2500 }} \r\n");
        assert_eq!(parse(other.as_bytes()), Ok(plain));
    }

    #[test]
    fn only_integers_are_amounts() {
        for amount in [
            "2500.0",
            "2.5e3",
            "25e2",
            "1E3",
            "\"2500\"",
            "true",
            "null",
            "[2500]",
            "{}",
            "-0",
            "1e400",
            "9223372036854775808",
            "99999999999999999999999999",
            "0x10",
            "+5",
            "01",
            "NaN",
            "Infinity",
            "",
        ] {
            assert_eq!(code_of(&with_amount(amount)), Some(Code::BodyInvalid), "{amount}");
        }
    }

    #[test]
    fn amounts_out_of_range_are_refused() {
        for amount in ["0", "-1", "1000000000000001", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(code_of(&with_amount(amount)), Some(Code::AmountInvalid), "{amount}");
        }
        assert_eq!(code_of(&with_amount("1000000000000000")), None);
    }

    #[test]
    fn duplicate_and_unknown_members_are_refused() {
        for body in [
            format!(r#"{{"amount":1,"amount":1,"recipient_id":"{RECIPIENT}"}}"#),
            format!(r#"{{"amount":1,"\u0061mount":1,"recipient_id":"{RECIPIENT}"}}"#),
            format!(r#"{{"amount":1,"recipient_id":"{RECIPIENT}","currency":null,"currency":"EUR"}}"#),
            format!(r#"{{"amount":1,"recipient_id":"{RECIPIENT}","note":"x"}}"#),
            format!(r#"{{"Amount":1,"recipient_id":"{RECIPIENT}"}}"#),
            format!(r#"{{"recipient_id":"{RECIPIENT}"}}"#),
            r#"{"amount":1}"#.to_owned(),
        ] {
            assert_eq!(code_of(&body), Some(Code::BodyInvalid), "{body}");
        }
    }

    #[test]
    fn what_is_not_one_json_object_is_refused() {
        let deep =
            format!(r#"{{"amount":{}1{},"recipient_id":"{RECIPIENT}"}}"#, "[".repeat(30_000), "]".repeat(30_000));
        let array = format!(r#"[1,"{RECIPIENT}",null,null]"#);
        let trailing = format!("{}{{}}", with_amount("1"));
        let bom = format!("\u{feff}{}", with_amount("1"));
        let nul = format!("{}\0", with_amount("1"));
        let lone = r#"{"amount":1,"recipient_id":"\ud800"}"#;
        for body in ["", " ", "null", "1", "{", "\0", &deep, &array, &trailing, &bom, &nul, lone] {
            assert_eq!(code_of(body), Some(Code::BodyInvalid), "{body:.80}");
        }
        let not_utf8 = b"{\"amount\":1,\"recipient_id\":\"\xff\"}";
        assert!(parse(not_utf8).is_err());
    }

    #[test]
    fn identifiers_are_hyphenated_uuids() {
        for text in [
            "",
            "x",
            "11111111222233334444555555555555",
            "{11111111-2222-3333-4444-555555555555}",
            "urn:uuid:11111111-2222-3333-4444-555555555555",
            "11111111-2222-3333-4444-55555555555g",
            "\\u0000",
            " ",
        ] {
            let recipient = format!(r#"{{"amount":1,"recipient_id":"{text}"}}"#);
            assert_eq!(code_of(&recipient), Some(Code::RecipientInvalid), "{text}");
            let account = format!(r#"{{"amount":1,"recipient_id":"{RECIPIENT}","account_id":"{text}"}}"#);
            assert_eq!(code_of(&account), Some(Code::AccountInvalid), "{text}");
        }
    }

    #[test]
    fn only_plain_json_is_a_media_type() {
        let check = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_TYPE, value.parse().unwrap());
            }
            check_media_type(&headers).is_ok()
        };
        for accepted in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
        ] {
            assert!(check(&[accepted]), "{accepted}");
        }
        for refused in
            ["", "text/plain", "application/jsonx", "application/json; charset=latin1", "application/json, text/plain"]
        {
            assert!(!check(&[refused]), "{refused}");
        }
        assert!(!check(&[]));
        assert!(!check(&["application/json", "application/json"]));
    }
}
