//! Serves HTTP.

use super::handle::Sandbox;
use axum::serve::ListenerExt as _;
use futures_util::future::BoxFuture;
use std::{future::Future, io, net::SocketAddr};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

impl Sandbox {
    /// Serves until `shutdown`, then finishes the requests in flight.
    pub async fn serve<F>(&self, listener: TcpListener, shutdown: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = listener.tap_io(|stream: &mut TcpStream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::trace!(%error, "failed to turn off delays on a connection");
            }
        });
        axum::serve(listener, self.router())
            .with_graceful_shutdown(shutdown)
            .await
    }

    /// Serves on a free port of 127.0.0.1 until the result is dropped.
    pub async fn run(&self) -> io::Result<Running> {
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let sandbox = self.clone();
        Ok(self.run_as(address, |stopped| async move {
            sandbox.serve(listener, stopped).await
        }))
    }

    /// Runs a server of this service at an address until the result is dropped. The server ends with its argument.
    pub fn run_as<S, F>(&self, address: SocketAddr, serve: S) -> Running
    where
        S: FnOnce(BoxFuture<'static, ()>) -> F,
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel::<()>();
        // A dropped sender is a signal, too.
        let stopped = async move { stopped.await.unwrap_or_default() };
        Running {
            url: format!("http://{address}"),
            address,
            sandbox: self.clone(),
            stop: Some(stop),
            task: Some(tokio::spawn(serve(Box::pin(stopped)))),
        }
    }
}

/// A service that runs until this value is dropped.
#[derive(Debug)]
pub struct Running {
    /// The base address, without a slash at the end.
    pub url: String,
    /// Its address.
    pub address: SocketAddr,
    /// The handle to the service.
    pub sandbox: Sandbox,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    /// Returns the token with all rights.
    pub fn token(&self) -> String {
        self.sandbox.options().token
    }

    /// Stops, and waits until the port is free and the requests in flight are answered.
    pub async fn stop(mut self) -> io::Result<()> {
        drop(self.stop.take());
        match self.task.take() {
            Some(task) => task.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}
