//! Identifiers, one type each, so that no account is ever passed where a tenant is meant.

use std::fmt;

use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0.as_hyphenated(), f)
            }
        }
    };
}

id! {
    /// A tenant: the owner of accounts and of idempotency keys.
    TenantId
}
id! {
    /// An account: one balance in one currency, owned by a tenant.
    AccountId
}
id! {
    /// Who receives the money. Opaque here: recipients live in another system.
    RecipientId
}
id! {
    /// A payment. For a keyed payment it is derived from the key, see [`StoredKey::payment_id`].
    PaymentId
}
id! {
    /// An idempotency key as it is stored: UUIDv5 (RFC 9562 §5.5) of the tenant and the canonical key.
    ///
    /// Any client key fits a `uuid` column, and the keys of two tenants cannot collide.
    StoredKey
}

/// A UUID in the hyphenated form of RFC 9562 §4 only: braces, URNs and bare digits are somebody's mistake.
#[must_use]
pub fn hyphenated_uuid(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok().filter(|_| text.len() == 36)
}

/// The namespace of payment ids. It is part of the stored data: a change would re-open every purged key.
const PAYMENT_ID_NAMESPACE: Uuid = Uuid::from_u128(0x6f0f_2d4c_93c1_4d0a_b1f7_52e8_3a64_9d15);

impl StoredKey {
    /// The payment id that this key stands for, for ever: UUIDv5 of the stored key.
    ///
    /// Because it is derived, the primary key of `payments` refuses a second debit even after the key was purged.
    #[must_use]
    pub fn payment_id(self) -> PaymentId {
        PaymentId(Uuid::new_v5(&PAYMENT_ID_NAMESPACE, self.0.as_bytes()))
    }
}
