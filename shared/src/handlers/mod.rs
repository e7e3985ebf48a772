//! HTTP in, HTTP out: parses requests, calls a use case, renders its outcome. Knows `http` types and bytes,
//! neither the host that received them nor the database behind the use case.

mod create_payment;
mod endpoint;
mod find_payment;
mod get_payment;
mod payment_body;
mod problem;
mod request_body;
mod request_caller;
mod request_key;

pub use create_payment::CreatePaymentHandler;
pub use endpoint::{Endpoint, REQUEST_ID, Reply, serve};
pub use find_payment::FindPaymentHandler;
pub use get_payment::GetPaymentHandler;
pub use problem::{Code, Problem};
pub use request_body::BODY_LIMIT;
