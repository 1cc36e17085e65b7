use std::future::{ready, Future};
use std::sync::Arc;
use std::time::Duration;

use peers_common::Parameter::{Choice, Number};
use peers_common::{spin, CommandLine, Parameter, Xorshift};
use tokio::sync::{mpsc, Mutex, Notify};

use crate::protocols::answer_reads;

/// Answers each read after a workload. `prepare` makes, of the command line, what makes a
/// connection's workload of its index.
fn run<ForConnection, Work, Done>(
    parameters: &[Parameter],
    prepare: impl FnOnce(&CommandLine) -> ForConnection,
) -> !
where
    ForConnection: Fn(u64) -> Work + Send + 'static,
    Work: FnMut() -> Done + Send + 'static,
    Done: Future<Output = ()> + Send + 'static,
{
    crate::run(parameters, |command| {
        let for_connection = prepare(command);
        move |stream, index| answer_reads(stream, for_connection(index))
    })
}

/// Spawns tasks that spin, and joins them all.
pub fn fanout() -> ! {
    let parameters = [
        Number("fibers", 8, 1, 10_000),
        Number("work_ns", 0, 0, 1_000_000_000),
    ];
    run(&parameters, |command| {
        let count = command.number("fibers");
        let length = Duration::from_nanos(command.number("work_ns"));
        move |_| {
            move || async move {
                let tasks: Vec<_> = (0..count)
                    .map(|_| tokio::spawn(async move { spin(length) }))
                    .collect();
                for task in tasks {
                    task.await.expect("spinning cannot panic");
                }
            }
        }
    })
}

/// A request under way: what resumes its connection.
type Waiting = Arc<Notify>;

/// Passes a request through every stage of the connection's lane.
pub fn pipeline() -> ! {
    run(&[Number("hops", 4, 1, 64)], |command| {
        let hops = command.number("hops");
        let lanes: Vec<_> = (0..command.workers).map(|_| start_lane(hops)).collect();
        move |connection| {
            let lane = lanes[connection as usize % lanes.len()].clone();
            let waiting = Waiting::default();
            move || {
                let waiting = waiting.clone();
                let is_sent = lane.send(waiting.clone()).is_ok();
                async move {
                    if is_sent {
                        waiting.notified().await;
                    }
                }
            }
        }
    })
}

/// No channel needs a bound: it holds one request of each connection at most.
fn start_lane(hops: u64) -> mpsc::UnboundedSender<Waiting> {
    let (first, mut input) = mpsc::unbounded_channel::<Waiting>();
    for _ in 1..hops {
        let (output, next) = mpsc::unbounded_channel();
        let mut from = std::mem::replace(&mut input, next);
        tokio::spawn(async move {
            while let Some(request) = from.recv().await {
                if output.send(request).is_err() {
                    return;
                }
            }
        });
    }
    tokio::spawn(async move {
        while let Some(request) = input.recv().await {
            request.notify_one();
        }
    });
    first
}

/// Spins for a short time, or with some probability for a long one.
pub fn imbalance() -> ! {
    let parameters = [
        Number("short_us", 1, 0, 10_000_000),
        Number("long_us", 1000, 0, 10_000_000),
        Number("long_percent", 1, 0, 100),
    ];
    run(&parameters, |command| {
        let short = Duration::from_micros(command.number("short_us"));
        let long = Duration::from_micros(command.number("long_us"));
        let percent = command.number("long_percent");
        move |connection| {
            let mut random = Xorshift::new(connection);
            move || {
                let is_long = random.next() % 100 < percent;
                ready(spin(if is_long { long } else { short }))
            }
        }
    })
}

/// Spins in turn: under one mutex, or while a flag is set that a mutex guards.
pub fn contended() -> ! {
    let parameters = [
        Choice("mode", &["mutex", "condition"]),
        Number("hold_ns", 100, 0, 1_000_000_000),
    ];
    run(&parameters, |command| {
        let turns = Arc::new(Turns::default());
        let by_condition = command.choice("mode") == "condition";
        let length = Duration::from_nanos(command.number("hold_ns"));
        move |_| {
            let turns = turns.clone();
            move || {
                let turns = turns.clone();
                async move {
                    if by_condition {
                        turns.spin_while_busy(length).await;
                    } else {
                        let _busy = turns.busy.lock().await;
                        spin(length);
                    }
                }
            }
        }
    })
}

/// Tokio has no condition variable; a `Notify` beside the mutex is its way to wait for a change.
/// Who is notified before it waits finds the permit, so no wake-up is lost.
#[derive(Default)]
struct Turns {
    busy: Mutex<bool>,
    changed: Notify,
}

impl Turns {
    async fn spin_while_busy(&self, length: Duration) {
        loop {
            let mut busy = self.busy.lock().await;
            if !*busy {
                *busy = true;
                break;
            }
            drop(busy);
            self.changed.notified().await;
        }
        spin(length);
        *self.busy.lock().await = false;
        self.changed.notify_one();
    }
}

/// Sleeps for each request, beside tasks that sleep 10 to 100 ms over and over.
pub fn sleepers() -> ! {
    let parameters = [
        Number("sleep_us", 1000, 0, 10_000_000),
        Number("idle", 10_000, 0, 1_000_000),
    ];
    run(&parameters, |command| {
        for index in 0..command.number("idle") {
            tokio::spawn(sleep_for_ever(Xorshift::new(index)));
        }
        let length = Duration::from_micros(command.number("sleep_us"));
        move |_| move || tokio::time::sleep(length)
    })
}

async fn sleep_for_ever(mut random: Xorshift) {
    loop {
        tokio::time::sleep(Duration::from_micros(10_000 + random.next() % 90_001)).await;
    }
}
