//! The RFCs' own examples.

use base64::{Engine, engine::general_purpose::STANDARD};
use sfv::{Dictionary, ListEntry, Parser};

use super::{TestResult, signature_base};

const INPUT: &str = r#"sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret""#;
const SECRET: &str = "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==";
const BASE: &str = r#""date": Tue, 20 Apr 2021 02:07:55 GMT
"@authority": example.com
"content-type": application/json
"@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret""#;

#[test]
fn rfc_9421_appendix_b_2_5_gives_its_signature_base_and_its_signature() -> TestResult {
    let (parts, ()) = http::Request::post("/foo?param=Value&Pet=dog")
        .header("host", "example.com")
        .header("date", "Tue, 20 Apr 2021 02:07:55 GMT")
        .header("content-type", "application/json")
        .body(())?
        .into_parts();
    let parsed = Parser::new(INPUT).parse::<Dictionary>()?;
    let Some(ListEntry::InnerList(input)) = parsed.get("sig-b25") else {
        return Err("not an inner list".into());
    };
    let base = signature_base::signature_base(&parts, input)?;
    assert_eq!(base, BASE);
    let key: [u8; 64] = STANDARD.decode(SECRET)?.as_slice().try_into()?;
    let signature = STANDARD.encode(signature_base::mac(&key, &base));
    assert_eq!(signature, "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=");
    Ok(())
}
