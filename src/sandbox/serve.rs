//! Serves HTTP, with connections that an interceptor can drop.
//!
//! Every connection is a [`Connection`] with a [`Line`], which each request has among its extensions. When the line is
//! cut, the next read or write fails, and the socket closes with a reset, as if the machine had crashed.

use super::{handle::Sandbox, options::Options};
use axum::{extract::connect_info::Connected, serve::IncomingStream};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

/// The connection of a request, which an interceptor can cut; every API request has it among its extensions.
#[derive(Clone, Debug, Default)]
pub struct Line(Arc<AtomicBool>);

impl Line {
    /// Drops the connection: nothing more is sent.
    pub fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_cut(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Connected<IncomingStream<'_, Lines>> for Line {
    fn connect_info(stream: IncomingStream<'_, Lines>) -> Self {
        stream.io().line.clone()
    }
}

/// A listener whose connections can be cut.
struct Lines(TcpListener);

impl axum::serve::Listener for Lines {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = axum::serve::Listener::accept(&mut self.0).await;
        if let Err(error) = stream.set_nodelay(true) {
            tracing::trace!(%error, "failed to turn off delays on a connection");
        }
        let line = Line::default();
        (Connection { stream, line }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection that can be cut.
struct Connection {
    stream: TcpStream,
    line: Line,
}

impl Connection {
    /// Fails once the line is cut; the socket then closes with a reset.
    fn check(&self) -> io::Result<()> {
        if !self.line.is_cut() {
            return Ok(());
        }
        self.stream.set_zero_linger()?;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Sandbox {
    /// Serves until `shutdown`, then finishes the requests in flight.
    pub async fn serve<F>(&self, listener: TcpListener, shutdown: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let service = self.router().into_make_service_with_connect_info::<Line>();
        axum::serve(Lines(listener), service)
            .with_graceful_shutdown(shutdown)
            .await
    }

    /// Starts a service on a free port of 127.0.0.1, for tests and the demo.
    pub async fn start(options: Options) -> io::Result<Running> {
        Self::new(options).run().await
    }

    /// Serves on a free port of 127.0.0.1 until the result is dropped.
    pub async fn run(&self) -> io::Result<Running> {
        self.run_on(TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?)
    }

    /// Serves on `listener` until the result is dropped.
    pub fn run_on(&self, listener: TcpListener) -> io::Result<Running> {
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let sandbox = self.clone();
        let task = tokio::spawn(async move {
            // A dropped sender is a signal, too.
            let shutdown = async move { stopped.await.unwrap_or_default() };
            sandbox.serve(listener, shutdown).await
        });
        Ok(Running {
            url: format!("http://{address}"),
            address,
            sandbox: self.clone(),
            stop: Some(stop),
            task: Some(task),
        })
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
