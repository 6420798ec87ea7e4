//! Opens connections, as the host hands it in.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::net::TcpStream;

/// The future of a connection that opens.
pub type Dialing<'a> = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + 'a>>;

/// Opens connections to addresses that were checked.
pub trait Dial: Send + Sync {
    /// Connects to `address`.
    fn dial(&self, address: SocketAddr) -> Dialing<'_>;
}

/// Connects over TCP, without a proxy.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpDialer;

impl Dial for TcpDialer {
    fn dial(&self, address: SocketAddr) -> Dialing<'_> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }
}
