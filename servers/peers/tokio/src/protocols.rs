use std::future::{ready, Future};

use peers_common::{ECHO_BUFFER_BYTES, OPERATION_LIMIT, READ_BUFFER_BYTES, RESPONSE};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub fn hello() -> ! {
    crate::run(&[], |_| |stream, _| answer_reads(stream, || ready(())))
}

pub fn hello_timeout() -> ! {
    crate::run(&[], |_| |stream, _| answer_in_time(stream))
}

pub fn echo() -> ! {
    crate::run(&[], |_| |stream, _| send_back(stream))
}

/// Answers each read after the work of a request.
pub(crate) async fn answer_reads<Work>(mut stream: TcpStream, mut work: impl FnMut() -> Work)
where
    Work: Future<Output = ()>,
{
    let mut buffer = [0; READ_BUFFER_BYTES];
    while matches!(stream.read(&mut buffer).await, Ok(count) if count > 0) {
        work().await;
        if stream.write_all(RESPONSE).await.is_err() {
            return;
        }
    }
}

async fn answer_in_time(mut stream: TcpStream) {
    let mut buffer = [0; READ_BUFFER_BYTES];
    loop {
        match timeout(OPERATION_LIMIT, stream.read(&mut buffer)).await {
            Ok(Ok(count)) if count > 0 => (),
            _ => return,
        }
        match timeout(OPERATION_LIMIT, stream.write_all(RESPONSE)).await {
            Ok(Ok(())) => (),
            _ => return,
        }
    }
}

/// With TCP_NODELAY, as heddle's: a write in parts must not wait for acknowledgements.
async fn send_back(mut stream: TcpStream) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut buffer = [0; ECHO_BUFFER_BYTES];
    loop {
        let count = match stream.read(&mut buffer).await {
            Ok(count) if count > 0 => count,
            _ => return,
        };
        if stream.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
