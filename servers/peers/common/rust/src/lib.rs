//! What the Rust peers share: everything but the runtime under comparison.

mod command_line;
mod listener;
mod work;

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

pub use command_line::{CommandLine, Parameter};
pub use work::{spin, Xorshift};

/// What every request of hello and of the workloads is answered with, whatever was read.
pub const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!";

/// The most that one read takes; a longer request is several reads and gets as many responses.
pub const READ_BUFFER_BYTES: usize = 1024;

pub const ECHO_BUFFER_BYTES: usize = 4096;

/// The longest that one read or one write may take under hello-timeout.
pub const OPERATION_LIMIT: Duration = Duration::from_secs(5);

/// How long a server that has no descriptor (or memory) left waits before it accepts again.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The whole of a peer's `main`. `start` gets the bound listener, which does not block, and returns
/// once other threads serve from it; what it returns lives as long as the process.
///
/// Ends the process: status 0 after SIGTERM or SIGINT, 1 when it cannot serve, 2 on bad arguments.
pub fn run<Server>(
    parameters: &[Parameter],
    start: impl FnOnce(&CommandLine, TcpListener) -> std::io::Result<Server>,
) -> ! {
    let command = CommandLine::of_process(parameters);
    let failure = match serve(&command, start) {
        Ok(()) => std::process::exit(0),
        Err(error) => error,
    };
    eprintln!(
        "{}: cannot serve on {}: {}",
        command.program, command.address, failure
    );
    std::process::exit(1);
}

fn serve<Server>(
    command: &CommandLine,
    start: impl FnOnce(&CommandLine, TcpListener) -> std::io::Result<Server>,
) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let listener = listener::listen(command.address)?;
    let address = listener.local_addr()?;
    let server = start(command, listener)?;
    let mut output = std::io::stdout();
    writeln!(output, "listening on {}", address)?;
    output.flush()?;
    signals.forever().next();
    std::mem::forget(server); // its connections end with the process
    Ok(())
}
