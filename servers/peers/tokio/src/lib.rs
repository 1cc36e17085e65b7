//! A peer of heddle's servers on Tokio's multi-thread runtime: one task a connection.

mod json;
mod protocols;
mod workloads;

pub use json::json;
pub use protocols::{echo, hello, hello_timeout};
pub use workloads::{contended, fanout, imbalance, pipeline, sleepers};

use std::future::Future;

use peers_common::{CommandLine, Parameter, ACCEPT_PAUSE};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// A runtime that serves each connection by a task. `prepare` is called once, in the runtime, and
/// returns what makes a connection's future of the connection and its index, from 0.
fn run<Serve, Served>(parameters: &[Parameter], prepare: impl FnOnce(&CommandLine) -> Serve) -> !
where
    Serve: FnMut(TcpStream, u64) -> Served + Send + 'static,
    Served: Future<Output = ()> + Send + 'static,
{
    peers_common::run(parameters, |command, listener| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(command.workers)
            .enable_all()
            .build()?;
        start(&runtime, listener, || prepare(command))?;
        Ok(runtime)
    })
}

fn start<Serve, Served>(
    runtime: &Runtime,
    listener: std::net::TcpListener,
    prepare: impl FnOnce() -> Serve,
) -> std::io::Result<()>
where
    Serve: FnMut(TcpStream, u64) -> Served + Send + 'static,
    Served: Future<Output = ()> + Send + 'static,
{
    let _context = runtime.enter();
    let listener = TcpListener::from_std(listener)?;
    tokio::spawn(accept_all(listener, prepare()));
    Ok(())
}

async fn accept_all<Serve, Served>(listener: TcpListener, mut serve: Serve)
where
    Serve: FnMut(TcpStream, u64) -> Served,
    Served: Future<Output = ()> + Send + 'static,
{
    let mut index = 0;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, index));
                index += 1;
            }
            // No descriptor is left: accepting at once would fail again, without end.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}
