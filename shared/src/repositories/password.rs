//! The password of a connection: the URL's, or a token that is made for this connection alone.

use std::error::Error;
use std::sync::Arc;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::{Region, SdkConfig};
use aws_sdk_rds::auth_token::{AuthTokenGenerator, Config as TokenConfig};
use aws_sdk_rds::config::SharedCredentialsProvider;
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use futures_util::future::BoxFuture;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::database::DatabaseError;

/// Makes the password of one connection; asked anew for each.
pub type PasswordSource =
    Arc<dyn Fn() -> BoxFuture<'static, Result<String, Box<dyn Error + Send + Sync>>> + Send + Sync>;

/// Signs IAM tokens for the host, port and user of a URL, with the credentials in the environment. A token is valid
/// for 15 minutes and costs some microseconds: none is kept.
pub(super) fn iam_tokens(config: &Config, region: Option<&str>) -> Result<PasswordSource, DatabaseError> {
    let credentials = SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new());
    signed_tokens(config, region.ok_or(DatabaseError::Region)?, credentials)
}

fn signed_tokens(
    config: &Config,
    region: &str,
    credentials: SharedCredentialsProvider,
) -> Result<PasswordSource, DatabaseError> {
    let ([Host::Tcp(host)], Some(user)) = (config.get_hosts(), config.get_user()) else {
        return Err(DatabaseError::TokenTarget);
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let target = TokenConfig::builder().hostname(host).port(port.into()).username(user).build();
    let generator = Arc::new(AuthTokenGenerator::new(target.map_err(|_| DatabaseError::TokenTarget)?));
    let sdk = SdkConfig::builder()
        .region(Region::new(region.to_owned()))
        .credentials_provider(credentials)
        .time_source(SharedTimeSource::new(SystemTimeSource::new()))
        .build();
    Ok(Arc::new(move || {
        let (generator, sdk) = (Arc::clone(&generator), sdk.clone());
        Box::pin(async move { Ok(generator.auth_token(&sdk).await?.to_string()) })
    }))
}

#[cfg(test)]
mod tests {
    use aws_sdk_rds::config::Credentials;

    use super::*;

    fn tokens(url: &str) -> Result<PasswordSource, DatabaseError> {
        let credentials = Credentials::new("AKIDEXAMPLE", "secret", Some("session".to_owned()), None, "test");
        signed_tokens(&url.parse().unwrap(), "eu-central-1", SharedCredentialsProvider::new(credentials))
    }

    #[tokio::test]
    async fn a_token_is_signed_for_the_urls_host_port_and_user_and_for_15_minutes() {
        let source = tokens("postgres://payments_app@proxy.example:6432/payments?sslmode=require").unwrap();

        let token = source().await.unwrap();

        assert!(token.starts_with("proxy.example:6432/?Action=connect&DBUser=payments_app&"), "{token}");
        for part in ["X-Amz-Expires=900", "%2Feu-central-1%2Frds-db%2Faws4_request", "X-Amz-Security-Token=session"] {
            assert!(token.contains(part), "{part} in {token}");
        }
        assert!(!token.contains("secret"), "{token}");
    }

    #[tokio::test]
    async fn the_port_is_postgresqls_unless_the_url_names_one() {
        let token = tokens("postgres://app@db/x").unwrap()().await.unwrap();
        assert!(token.starts_with("db:5432/"), "{token}");
    }

    #[test]
    fn a_token_needs_one_host_a_user_and_a_region() {
        for url in ["postgres://app@a,b/x", "postgres://db/x", "postgres://app@%2Frun/x"] {
            assert!(matches!(tokens(url), Err(DatabaseError::TokenTarget)), "{url}");
        }
        let config = "postgres://app@db/x".parse().unwrap();
        assert!(matches!(iam_tokens(&config, None), Err(DatabaseError::Region)));
    }
}
