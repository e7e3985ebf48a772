//! Requests that other implementations signed, byte for byte.
