//! Errors from the database on demand: a trigger on `payments` in the test's own database.

use tokio_postgres::Client;

/// What the message of every injected error holds, and no client may ever read.
pub(crate) const MESSAGE: &str = "injected into INSERT INTO payments";

/// An error that the next inserts into `payments` raise.
pub(crate) struct Fault {
    pub(crate) sqlstate: &'static str,
    pub(crate) constraint: &'static str,
    /// How many inserts fail before they succeed again.
    pub(crate) times: i32,
}

impl Fault {
    /// That SQLSTATE, for so many inserts.
    pub(crate) fn new(sqlstate: &'static str, times: i32) -> Self {
        Self { sqlstate, constraint: "", times }
    }

    /// Installs the fault. A sequence counts, because an aborted transaction does not roll it back.
    pub(crate) async fn inject(&self, owner: &Client) {
        let Self { sqlstate, constraint, times } = self;
        let sql = format!(
            "CREATE SEQUENCE faults;
             CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
             BEGIN
                 IF nextval('faults') <= {times} THEN
                     RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = '{sqlstate}', CONSTRAINT = '{constraint}';
                 END IF;
                 RETURN NULL;
             END $$;
             CREATE TRIGGER fault AFTER INSERT ON payments FOR EACH ROW EXECUTE FUNCTION fault();"
        );
        owner.batch_execute(&sql).await.unwrap();
    }
}

/// How often an insert was tried since the fault was injected.
pub(crate) async fn tries(owner: &Client) -> i64 {
    let sql = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM faults";
    owner.query_one(sql, &[]).await.unwrap().get(0)
}

/// Removes the fault.
pub(crate) async fn clear(owner: &Client) {
    let sql = "DROP TRIGGER fault ON payments; DROP FUNCTION fault; DROP SEQUENCE faults";
    owner.batch_execute(sql).await.unwrap();
}
