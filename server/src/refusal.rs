//! Answers of the server itself, in the shape of every other answer: a problem, a request id, a line in the log.

use bytes::Bytes;
use http::header::{ALLOW, HeaderValue};
use http::{Request, Response};
use payments::domain::Invocation;
use payments::handlers::{BODY_LIMIT, Code, Endpoint, Problem, Reply};

/// Why a request does not reach its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No route has its path.
    Nowhere,
    /// Its path has these methods only.
    OtherMethod(&'static str),
    /// Its body is over the limit.
    BodyTooLarge,
    /// Its body broke off.
    BodyBrokeOff,
    /// Its body did not arrive in time.
    BodyTooSlow,
    /// As many requests as the server takes are at work.
    Busy,
}

impl Refusal {
    fn problem(self) -> Problem {
        match self {
            Self::Nowhere => Problem::new(Code::RouteNotFound, "No route has this path."),
            Self::OtherMethod(allowed) => Problem::new(Code::MethodNotAllowed, format!("Allowed here: {allowed}.")),
            Self::BodyTooLarge => Problem::new(Code::BodyTooLarge, format!("{BODY_LIMIT} bytes are allowed.")),
            Self::BodyBrokeOff => Problem::new(Code::BodyInvalid, "The body broke off."),
            Self::BodyTooSlow => Problem::new(
                Code::Unavailable,
                "The body did not arrive in time, and nothing happened. Retry with the same key.",
            ),
            Self::Busy => Problem::new(
                Code::Unavailable,
                "Too many requests are at work, and nothing happened. Retry with the same key.",
            ),
        }
    }

    fn response(self) -> Response<Bytes> {
        let mut response = self.problem().into_response();
        if let Self::OtherMethod(allowed) = self {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        }
        response
    }
}

impl Endpoint for Refusal {
    const NAME: &'static str = "server";

    async fn respond(&self, _: Request<Bytes>, _: &Invocation) -> Reply {
        let outcome = match self {
            Self::Busy => "busy",
            _ => self.problem().code.as_str(),
        };
        Reply::new(outcome, self.response())
    }
}
