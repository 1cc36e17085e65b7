use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};

const BACKLOG_CONNECTIONS: i32 = 1024;

/// A listener that does not block, with the socket options of the other peers.
pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG_CONNECTIONS)?;
    Ok(socket.into())
}
