//! A server of a sandbox whose connections faults can drop.
//!
//! Every connection is a [`Connection`] with a [`Line`], which each request has among its extensions. When the line is
//! cut, the next read or write fails, and the socket closes with a reset, as if the machine had crashed.

use axum::{extract::connect_info::Connected, serve::IncomingStream};
use kbsync::sandbox::{Running, Sandbox};
use std::{
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
};

/// Serves a sandbox on a free port of 127.0.0.1 until the result is dropped.
pub(crate) async fn serve(sandbox: &Sandbox) -> io::Result<Running> {
    let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let service = sandbox.router();
    Ok(sandbox.run_as(address, |stopped| async move {
        let service = service.into_make_service_with_connect_info::<Line>();
        axum::serve(Lines(listener), service)
            .with_graceful_shutdown(stopped)
            .await
    }))
}

/// The connection of a request, which a fault can cut. A request in memory has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Arc<AtomicBool>);

impl Line {
    /// Drops the connection: nothing more is sent.
    pub(super) fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
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
        // Without it, the tests are only slower.
        stream.set_nodelay(true).ok();
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
        if !self.line.0.load(Ordering::SeqCst) {
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
