//! Builds the HTTP client: TLS, proxy, timeouts, no redirects. Sends nothing.

use super::{options::ClientOptions, origin::Origin};
use reqwest::{
    Certificate, Client, ClientBuilder,
    header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue},
    redirect::Policy,
};
use secrecy::ExposeSecret;
use std::{sync::Once, time::Duration};

/// The longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why no client could be built.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The token is invalid in a header.
    #[error("the token cannot be sent in a header")]
    Header,
    /// TLS could not be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] reqwest::Error),
}

/// Builds the client for one origin, with the headers of every request.
pub(super) fn build(options: &ClientOptions, origin: &Origin) -> Result<Client, TransportError> {
    install_tls();
    let headers = headers(options)?;
    let builder = || configure(options, origin, headers.clone());
    match builder().build() {
        Ok(client) => Ok(client),
        // Without a certificate store on the machine, not even a client for plain HTTP can be built.
        Err(error) => {
            tracing::debug!(%error, "no certificate store, using the built-in roots");
            builder()
                .tls_certs_only(built_in_roots()?)
                .build()
                .map_err(TransportError::Tls)
        }
    }
}

/// Returns the certificates that Mozilla trusted when this program was built.
fn built_in_roots() -> Result<Vec<Certificate>, TransportError> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS
        .iter()
        .map(|der| Certificate::from_der(der))
        .collect::<Result<_, _>>()
        .map_err(TransportError::Tls)
}

fn configure(options: &ClientOptions, origin: &Origin, headers: HeaderMap) -> ClientBuilder {
    let builder = Client::builder()
        .default_headers(headers)
        .user_agent(concat!("kbsync/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .https_only(origin.as_str().starts_with("https:"))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(options.idle_timeout)
        .timeout(options.total_timeout);
    if !origin.is_loopback() {
        return builder;
    }
    // Requests to this machine use no proxy.
    let builder = builder.no_proxy();
    if origin.as_str().starts_with("http:") {
        // Without encryption, the machine's certificates need not be read, which takes time.
        builder.tls_certs_only([])
    } else {
        builder
    }
}

fn headers(options: &ClientOptions) -> Result<HeaderMap, TransportError> {
    let bearer = options.token.bearer();
    let mut value =
        HeaderValue::from_str(bearer.expose_secret()).map_err(|_| TransportError::Header)?;
    value.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, value);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    Ok(headers)
}

/// Selects ring for TLS, once for the process.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if rustls::crypto::ring::default_provider()
            .install_default()
            .is_err()
        {
            tracing::debug!("TLS was set up by someone else already");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{
        budget::{Budget, Limits},
        token::Token,
    };

    #[test]
    fn without_a_certificate_store_the_built_in_roots_make_a_client() {
        install_tls();
        let origin = Origin::of("https://kb.example.com").expect("an address");
        let token = Token::new("CANARY-4711-token").expect("a token");
        let budget = Budget::in_memory(Limits::default());
        let options = ClientOptions::new(origin.as_str(), token, budget);
        let headers = headers(&options).expect("headers");
        assert!(!format!("{headers:?}").contains("4711"));
        let roots = built_in_roots().expect("roots");
        assert!(roots.len() > 50);
        configure(&options, &origin, headers)
            .tls_certs_only(roots)
            .build()
            .expect("a client");
    }
}
