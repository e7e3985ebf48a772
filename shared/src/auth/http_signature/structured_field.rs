//! Structured fields (RFC 9651), read strictly: one header line, bounded length, nothing named twice. Must not know what
//! a field means.
//!
//! RFC 9651 lets the last of two equal names win. A signature must not depend on which of two values a reader takes, so
//! here the second one is an error.

use std::{collections::HashSet, fmt};

use http::{HeaderMap, HeaderName};
use sfv::{
    BareItemFromInput, Dictionary, InnerList, KeyRef, ListEntry, ListSerializer, Parser,
    visitor::{DictionaryVisitor, EntryVisitor, InnerListVisitor, ItemVisitor, ParameterVisitor},
};

use super::SignatureError;

/// Reads the one line of `name`, at most `max_bytes` long, as a dictionary.
pub(super) fn dictionary(
    headers: &HeaderMap,
    name: &'static str,
    max_bytes: usize,
) -> Result<Dictionary, SignatureError> {
    let mut lines = headers.get_all(HeaderName::from_static(name)).iter();
    let line = lines.next().ok_or(SignatureError::MissingHeader(name))?.as_bytes();
    if lines.next().is_some() {
        return Err(SignatureError::RepeatedHeader(name));
    }
    if line.len() > max_bytes {
        return Err(SignatureError::OversizedHeader(name));
    }
    Parser::new(line)
        .parse_dictionary_with_visitor(Names::default())
        .and_then(|()| Parser::new(line).parse())
        .map_err(|_| SignatureError::MalformedHeader(name))
}

/// The bytes of a member that is a byte sequence without parameters.
pub(super) fn byte_sequence<'a>(member: &'a ListEntry, name: &'static str) -> Result<&'a [u8], SignatureError> {
    match member {
        ListEntry::Item(item) if item.params.is_empty() => item.bare_item.as_byte_sequence(),
        _ => None,
    }
    .ok_or(SignatureError::MalformedHeader(name))
}

/// The canonical text of an inner list with its parameters (RFC 9651 §4.1.1.1).
pub(super) fn serialize_inner_list(inner_list: &InnerList) -> String {
    let mut text = String::new();
    let mut list = ListSerializer::with_buffer(&mut text);
    let mut serializer = list.inner_list();
    serializer.items(&inner_list.items);
    serializer.finish().parameters(&inner_list.params);
    text
}

#[derive(Debug)]
struct NamedTwice;

impl fmt::Display for NamedTwice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name appears twice")
    }
}

impl std::error::Error for NamedTwice {}

/// The names in one dictionary or one set of parameters.
#[derive(Default)]
struct Names<'de>(HashSet<&'de str>);

impl<'de> Names<'de> {
    fn add(&mut self, name: &'de KeyRef) -> Result<(), NamedTwice> {
        if self.0.insert(name.as_str()) { Ok(()) } else { Err(NamedTwice) }
    }
}

impl<'de> DictionaryVisitor<'de> for Names<'de> {
    type Out = ();
    type Error = NamedTwice;

    fn entry(&mut self, name: &'de KeyRef) -> Result<impl EntryVisitor<'de>, NamedTwice> {
        self.add(name).map(|()| Value)
    }

    fn finish(self) -> Result<(), NamedTwice> {
        Ok(())
    }
}

impl<'de> ParameterVisitor<'de> for Names<'de> {
    type Out = ();
    type Error = NamedTwice;

    fn parameter(&mut self, name: &'de KeyRef, _value: BareItemFromInput<'de>) -> Result<(), NamedTwice> {
        self.add(name)
    }

    fn finish(self) -> Result<(), NamedTwice> {
        Ok(())
    }
}

/// Any value; only the names of its parameters matter here.
struct Value;

impl<'de> EntryVisitor<'de> for Value {
    type Error = NamedTwice;

    fn item(self) -> Result<impl ItemVisitor<'de>, NamedTwice> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'de>, NamedTwice> {
        Ok(self)
    }
}

impl<'de> InnerListVisitor<'de> for Value {
    type Error = NamedTwice;

    fn item(&mut self) -> Result<impl ItemVisitor<'de>, NamedTwice> {
        Ok(Self)
    }

    fn finish(self) -> Result<impl ParameterVisitor<'de>, NamedTwice> {
        Ok(Names::default())
    }
}

impl<'de> ItemVisitor<'de> for Value {
    type Out = ();
    type Error = NamedTwice;

    fn bare_item(
        self,
        _value: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = Self::Out>, NamedTwice> {
        Ok(Names::default())
    }
}
