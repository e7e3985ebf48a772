//! The least that a function behind API Gateway can be: the reference of the cold start.

use lambda_http::{Body, Error, Request, Response, run, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    run(service_fn(async |_: Request| Ok::<_, Error>(Response::new(Body::from("hello"))))).await
}
