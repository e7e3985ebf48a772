//! The running parts of a stack. Each is a value; dropping it ends its processes.
//!
//! Nothing here knows a command or a tool's provenance: binaries come in as paths.

pub(crate) mod broken;
pub(crate) mod build_lock;
pub(crate) mod dual_write;
pub(crate) mod emulator;
pub(crate) mod family;
pub(crate) mod fleet;
pub(crate) mod functions;
pub(crate) mod http;
pub(crate) mod lambda_apis;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod payments;
pub(crate) mod pgbouncer;
pub(crate) mod ports;
pub(crate) mod postgres;
pub(crate) mod process;
pub(crate) mod redis;
pub(crate) mod server_user;
pub(crate) mod small_disk;
pub(crate) mod toxiproxy;
