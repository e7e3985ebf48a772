//! Reads a request's body, bounded in size and time. Knows nothing of what it means.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use payments::handlers::BODY_LIMIT;
use tokio::time::timeout;

use crate::refusal::Refusal;

/// How much of a body that is too large is read and thrown away: a client that is still sending hears its answer only
/// when it has been read, as the system resets a connection that is closed with unread bytes.
const DISCARDED: usize = 16 * BODY_LIMIT;

/// The whole body.
pub(crate) async fn read<B: Body<Data = Bytes> + Unpin>(body: B, time: Duration) -> Result<Bytes, Refusal> {
    timeout(time, collect(body)).await.unwrap_or(Err(Refusal::BodyTooSlow))
}

async fn collect<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Result<Bytes, Refusal> {
    let mut bytes = Vec::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::BodyBrokeOff)?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length <= BODY_LIMIT {
            bytes.extend_from_slice(&data);
        } else if length > DISCARDED {
            break;
        }
    }
    if length > BODY_LIMIT { Err(Refusal::BodyTooLarge) } else { Ok(bytes.into()) }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    async fn read_one(length: usize) -> Result<usize, Refusal> {
        let body = Full::new(Bytes::from(vec![b'x'; length]));
        read(body, Duration::from_secs(5)).await.map(|bytes| bytes.len())
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_the_limit_and_refused_beyond_it() {
        assert_eq!(read_one(0).await, Ok(0));
        assert_eq!(read_one(BODY_LIMIT).await, Ok(BODY_LIMIT));
        assert_eq!(read_one(BODY_LIMIT + 1).await, Err(Refusal::BodyTooLarge));
        assert_eq!(read_one(DISCARDED + 1).await, Err(Refusal::BodyTooLarge));
    }
}
