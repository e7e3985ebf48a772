//! Derivation, rotation and redaction of secrets.

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    super::{MasterSecret, SecretError},
    CREATED, ClientSecret, KEY_ID, KeyId, MASTER_SECRETS, MasterSecrets, Nonce, Request, SignatureError, Signer,
    TestResult, Verifier, at, secret,
};

const NEW_MASTER_SECRET: &str = "YW5vdGhlciBtYXN0ZXIgc2VjcmV0LCAzMiBieXRlcyE=";

fn signed_by(secrets: &str, key_id: &str) -> Result<Request, Box<dyn std::error::Error>> {
    let key_id: KeyId = key_id.parse()?;
    let secret = secrets.parse::<MasterSecrets>()?.issue(&key_id)?;
    let mut request = Request::payment()?;
    let signer = Signer::new(key_id, secret);
    signer.sign(&mut request.parts, &request.body, i64::try_from(CREATED)?, &Nonce::random())?;
    Ok(request)
}

fn verdict(secrets: &str, request: &Request) -> Result<Result<(), SignatureError>, SecretError> {
    let verifier = Verifier::new(secrets.parse()?);
    Ok(verifier.verify(&request.parts, &request.body, at(CREATED)).map(|_| ()))
}

#[test]
fn a_client_secret_never_changes() -> TestResult {
    // Made once by a second implementation of RFC 5869. Another value here would lock every client out.
    assert_eq!(secret()?.to_base64().as_str(), "UE8rvJhNPNJn03QOoPz9rzhokjMRWNwwDNdEqu5HPXQ=");
    Ok(())
}

#[test]
fn each_tenant_and_version_has_its_own_secret() -> TestResult {
    let master: MasterSecret = MASTER_SECRETS.parse()?;
    let mut secrets = HashSet::new();
    for key_id in [KEY_ID, "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a10.2", "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a11.1"] {
        secrets.insert(master.client_secret(&key_id.parse()?)?.to_base64().to_string());
    }
    assert_eq!(secrets.len(), 3);
    Ok(())
}

#[test]
fn both_master_secrets_are_valid_while_the_master_rotates() -> TestResult {
    let both = format!("{NEW_MASTER_SECRET}, {MASTER_SECRETS}");
    let old = signed_by(MASTER_SECRETS, KEY_ID)?;
    let new = signed_by(&both, KEY_ID)?;
    assert_eq!(verdict(&both, &old)?, Ok(()));
    assert_eq!(verdict(&both, &new)?, Ok(()));
    assert_eq!(verdict(NEW_MASTER_SECRET, &new)?, Ok(()));
    assert_eq!(verdict(NEW_MASTER_SECRET, &old)?, Err(SignatureError::MacMismatch));
    Ok(())
}

#[test]
fn a_signature_by_another_clients_secret_is_refused() -> TestResult {
    let mut request = signed_by(MASTER_SECRETS, "0190d2f4-7c1a-7a53-9c55-3f5d1c6b2a11.1")?;
    let input = request.header("signature-input")?.replace("2a11.1", "2a10.1");
    request.set("signature-input", &input)?;
    assert_eq!(verdict(MASTER_SECRETS, &request)?, Err(SignatureError::MacMismatch));
    Ok(())
}

#[test]
fn an_unknown_client_and_a_wrong_signature_get_the_same_answer() -> TestResult {
    let mut unknown = signed_by(NEW_MASTER_SECRET, "00000000-0000-4000-8000-000000000000.1")?;
    let mut wrong = signed_by(MASTER_SECRETS, KEY_ID)?;
    for request in [&mut unknown, &mut wrong] {
        request.set("signature", "sig1=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:")?;
        assert_eq!(verdict(MASTER_SECRETS, request)?, Err(SignatureError::MacMismatch));
    }
    Ok(())
}

#[test]
fn malformed_secrets_are_refused() {
    let short = STANDARD.encode([7; 31]);
    for (text, expected) in
        [("", SecretError::WrongLength), ("not base64!", SecretError::NotBase64), (&short, SecretError::WrongLength)]
    {
        assert_eq!(text.parse::<MasterSecrets>().map(|_| ()), Err(expected), "{text}");
    }
    let trailing_comma = format!("{MASTER_SECRETS},");
    assert_eq!(trailing_comma.parse::<MasterSecrets>().map(|_| ()), Err(SecretError::WrongLength));
    for bytes in [31, 33] {
        let text = STANDARD.encode(vec![7; bytes]);
        assert_eq!(text.parse::<ClientSecret>().map(|_| ()), Err(SecretError::WrongLength));
    }
}

#[test]
fn a_client_secret_survives_printing_and_reading() -> TestResult {
    let printed = secret()?.to_base64();
    assert_eq!(printed.parse::<ClientSecret>()?.to_base64(), printed);
    Ok(())
}

#[test]
fn debug_shows_no_secret() -> TestResult {
    let secrets: MasterSecrets = format!("{MASTER_SECRETS},{NEW_MASTER_SECRET}").parse()?;
    assert_eq!(
        format!("{secrets:?}"),
        "MasterSecrets { first: MasterSecret(redacted), others: [MasterSecret(redacted)] }"
    );
    let signer = format!("{:?}", Signer::new(KEY_ID.parse()?, secret()?));
    assert!(signer.ends_with("secret: ClientSecret(redacted) }"), "{signer}");
    Ok(())
}

#[test]
fn every_master_secret_is_tried_whichever_matches() -> TestResult {
    let third = STANDARD.encode([3; 32]);
    for secrets in [
        format!("{MASTER_SECRETS},{NEW_MASTER_SECRET},{third}"),
        format!("{NEW_MASTER_SECRET},{MASTER_SECRETS},{third}"),
        format!("{NEW_MASTER_SECRET},{third},{MASTER_SECRETS}"),
    ] {
        assert_eq!(verdict(&secrets, &signed_by(MASTER_SECRETS, KEY_ID)?)?, Ok(()));
    }
    Ok(())
}
