//! What runs the handlers. Adapts a platform's requests to `http` types, and nothing else.

pub mod lambda;
