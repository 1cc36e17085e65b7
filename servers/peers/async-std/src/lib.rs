//! A peer of heddle's servers on async-std's runtime: one task a connection.

use std::future::Future;
use std::io;

use async_std::io::timeout;
use async_std::net::{TcpListener, TcpStream};
use async_std::prelude::*;
use async_std::task;
use peers_common::{ACCEPT_PAUSE, ECHO_BUFFER_BYTES, OPERATION_LIMIT, READ_BUFFER_BYTES, RESPONSE};

pub fn hello() -> ! {
    run(answer_reads)
}

pub fn hello_timeout() -> ! {
    run(answer_in_time)
}

pub fn echo() -> ! {
    run(send_back)
}

fn run<Served>(serve: fn(TcpStream) -> Served) -> !
where
    Served: Future<Output = io::Result<()>> + Send + 'static,
{
    peers_common::run(&[], |command, listener| {
        // The runtime, which starts with its first use below, knows no other way to be told.
        std::env::set_var("ASYNC_STD_THREAD_COUNT", command.workers.to_string());
        task::spawn(accept_all(TcpListener::from(listener), serve));
        Ok(())
    })
}

async fn accept_all<Served>(listener: TcpListener, serve: fn(TcpStream) -> Served)
where
    Served: Future<Output = io::Result<()>> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                task::spawn(serve(stream));
            }
            // No descriptor is left: accepting at once would fail again, without end.
            Err(_) => task::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn answer_reads(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; READ_BUFFER_BYTES];
    while stream.read(&mut buffer).await? > 0 {
        stream.write_all(RESPONSE).await?;
    }
    Ok(())
}

async fn answer_in_time(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; READ_BUFFER_BYTES];
    while timeout(OPERATION_LIMIT, stream.read(&mut buffer)).await? > 0 {
        timeout(OPERATION_LIMIT, stream.write_all(RESPONSE)).await?;
    }
    Ok(())
}

/// With TCP_NODELAY, as heddle's: a write in parts must not wait for acknowledgements.
async fn send_back(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; ECHO_BUFFER_BYTES];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..count]).await?;
    }
}
