//! One module per command. A command composes tools, stack and rules; none of those knows a command.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod client;
pub(crate) mod dev;
pub(crate) mod lab;
pub(crate) mod rehearse;
pub(crate) mod slo;
pub(crate) mod test;
pub(crate) mod torture;
