//! How many files and sockets the process may have open. Out of them, it could reach neither a client nor the database.

use anyhow::{Result, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Standard streams, the listener, and what the runtime and a name look-up open.
const SPARE: u64 = 64;

/// Asks the system for as many as it gives, and makes sure that they are enough for so many clients and so many
/// connections to the database.
pub(crate) fn require(max_connections: usize, pool_size: usize) -> Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without the right to more, what there was is what there is.
    let _ = setrlimit(Resource::Nofile, limit);
    check(max_connections, pool_size, getrlimit(Resource::Nofile).current)
}

/// No limit is enough for everything.
fn check(max_connections: usize, pool_size: usize, limit: Option<u64>) -> Result<()> {
    let needed = u64::try_from(max_connections.saturating_add(pool_size))?.saturating_add(SPARE);
    let permitted = limit.unwrap_or(u64::MAX);
    ensure!(
        needed <= permitted,
        "MAX_CONNECTIONS={max_connections} and POOL_SIZE={pool_size} need {needed} open files, and the system permits \
         {permitted} (`ulimit -n`): serve fewer connections, or permit more"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_may_not_use_up_the_files_that_the_database_needs() {
        assert!(check(1_024, 20, Some(1_108)).is_ok());
        let told = check(1_024, 20, Some(1_107)).unwrap_err().to_string();
        assert!(told.contains("MAX_CONNECTIONS=1024") && told.contains("1108") && told.contains("1107"), "{told}");
        assert!(check(100_000, 1_000, None).is_ok());
    }
}
