//! A TCP proxy of the tests: bytes between a client and a server, which it drops, delays, cuts off,
//! holds back or changes on demand. It knows connections and no protocol; see `proxy.rs` for HTTP.
//!
//! The invariant: without a harm every byte goes on as it came, and what is chosen by chance comes
//! from the seed. Bytes are changed only where a receiver can notice: see [`Corrupt`]. It runs on a
//! thread of its own, so that a test may block.

use anyhow::{Context as _, Result};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::corpus::Dice;
use crate::{free_port, pass};

/// Read at once; a chunk is what a harm looks at.
const CHUNK_BYTES: usize = 32 << 10;
/// The head of a Kafka record batch up to and with its checksum: what stands behind is covered.
const BATCH_HEAD_BYTES: usize = 21;
/// What is changed of an answer's first bytes, `HTTP/1.1 200 OK`.
const HEAD_BYTES: u64 = 5;

/// What happens to the connections from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Harm {
    /// Nothing.
    #[default]
    None,
    /// All are closed, and new ones at once.
    Refuse,
    /// Every chunk waits this long.
    Delay(Duration),
    /// Each is closed after so many bytes at most, in the middle of whatever they are.
    Cut(u64),
    /// No byte moves, and nobody is told.
    Stall,
    /// Half of the chunks that can be changed are.
    Corrupt(Corrupt),
}

/// Which bytes are changed. None of these is left to TCP's own checksum, which is taken as passed:
/// each is covered by something that the receiver of a plain connection can check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrupt {
    /// One byte behind the checksum of a Kafka record batch that a broker sends.
    Batches,
    /// One of the first five bytes of an HTTP answer: it is no longer HTTP.
    Heads,
    /// One byte of the body of an HTTP request, whose digest stands in its signed head.
    Bodies,
}

/// A proxy on a port; it ends when dropped.
#[derive(Debug)]
pub struct Wire {
    port: u16,
    harm: watch::Sender<Harm>,
    harmed: Arc<AtomicU64>,
    // Invariant: `Some` until dropped.
    runtime: Option<Runtime>,
}

/// What both directions of all connections share.
#[derive(Clone)]
struct Shared {
    upstream: u16,
    harm: watch::Receiver<Harm>,
    harmed: Arc<AtomicU64>,
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Wire {
    /// A proxy on a free port in front of a server's port on loopback.
    pub fn start(upstream: u16, seed: u64) -> Result<Self> {
        Self::start_on(free_port()?, upstream, seed)
    }

    /// The same on a given port.
    pub fn start_on(port: u16, upstream: u16, seed: u64) -> Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().context("a wire's runtime")?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = listener.with_context(|| format!("listening on port {port}"))?;
        listener.set_nonblocking(true).context("listening")?;
        let (harm, watched) = watch::channel(Harm::None);
        let harmed = Arc::new(AtomicU64::new(0));
        let shared = Shared { upstream, harm: watched, harmed: Arc::clone(&harmed), seed };
        let entered = runtime.enter();
        let listener = TcpListener::from_std(listener).context("listening")?;
        drop(entered);
        drop(runtime.spawn(serve(listener, shared)));
        Ok(Self { port, harm, harmed, runtime: Some(runtime) })
    }

    /// The port that clients connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What happens from now on, also to open connections.
    pub fn set_harm(&self, harm: Harm) {
        self.harm.send_replace(harm);
    }

    /// How often a harm was done: connections closed, chunks delayed, held back or changed.
    pub fn harmed(&self) -> u64 {
        self.harmed.load(Ordering::Relaxed)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(listener: TcpListener, shared: Shared) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        number += 1;
        connections.spawn(connect(client, shared.clone(), number));
        while connections.try_join_next().is_some() {}
    }
}

async fn connect(client: TcpStream, shared: Shared, number: u64) {
    if *shared.harm.borrow() == Harm::Refuse {
        shared.did_harm();
        return;
    }
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, shared.upstream)).await else {
        return;
    };
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let up = Pipe::new(Direction::Up, shared.seed, number);
    let down = Pipe::new(Direction::Down, shared.seed, number);
    let up = pump(from_client, to_server, shared.clone(), up);
    let down = pump(from_server, to_client, shared, down);
    // The end of one direction is the end of both: nobody here keeps half a connection.
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: Shared, pipe: Pipe) {
    let (mut shared, mut pipe) = (shared, pipe);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = tokio::select! {
            read = from.read(&mut chunk) => Some(read),
            changed = shared.harm.changed() => changed.err().map(|_| Ok(0)),
        };
        let count = match read {
            Some(Ok(count)) if count > 0 => count,
            None if *shared.harm.borrow_and_update() != Harm::Refuse => continue,
            None => return shared.did_harm(),
            Some(_) => return,
        };
        let Some(passed) = shared.harm_chunk(&mut chunk[..count], &mut pipe).await else { return };
        if to.write_all(&chunk[..passed]).await.is_err() || passed < count {
            return;
        }
    }
}

impl Shared {
    fn did_harm(&self) {
        self.harmed.fetch_add(1, Ordering::Relaxed);
    }

    /// Does to a chunk what is to be done; how much of it goes on, `None` for a closed connection.
    async fn harm_chunk(&mut self, chunk: &mut [u8], pipe: &mut Pipe) -> Option<usize> {
        pipe.see(chunk);
        let harm = *self.harm.borrow_and_update();
        match harm {
            Harm::None => {}
            Harm::Refuse => {
                self.did_harm();
                return None;
            }
            Harm::Delay(time) => {
                self.did_harm();
                pass(time).await;
            }
            Harm::Cut(bytes_max) => {
                let passed = pipe.cut(chunk.len(), bytes_max);
                if passed < chunk.len() {
                    self.did_harm();
                }
                return Some(passed);
            }
            Harm::Stall => {
                self.did_harm();
                while *self.harm.borrow_and_update() == Harm::Stall {
                    self.harm.changed().await.ok()?;
                }
            }
            Harm::Corrupt(what) => {
                if pipe.dice.percent(50) && pipe.corrupt(what, chunk) {
                    self.did_harm();
                }
            }
        }
        pipe.budget = None;
        Some(chunk.len())
    }
}

/// One direction of a connection.
struct Pipe {
    direction: Direction,
    dice: Dice,
    /// Bytes left until it is cut.
    budget: Option<u64>,
    /// Was the last request that began a `PUT`?
    of_put: bool,
}

impl Pipe {
    fn new(direction: Direction, seed: u64, number: u64) -> Self {
        let dice = Dice::new(seed, number * 2 + u64::from(direction == Direction::Down));
        Self { direction, dice, budget: None, of_put: false }
    }

    fn see(&mut self, chunk: &[u8]) {
        if begins_request(chunk) {
            self.of_put = chunk.starts_with(b"PUT ");
        }
    }

    /// How much of a chunk still goes on.
    fn cut(&mut self, bytes: usize, bytes_max: u64) -> usize {
        let left = self.budget.get_or_insert_with(|| self.dice.below(bytes_max.max(1)));
        let passed = (bytes as u64).min(*left);
        *left -= passed;
        passed as usize
    }

    /// Changes one byte, where there is one that may be.
    fn corrupt(&mut self, what: Corrupt, chunk: &mut [u8]) -> bool {
        let dice = &mut self.dice;
        let place = match (what, self.direction) {
            (Corrupt::Batches, Direction::Down) => covered_by_checksum(chunk, dice),
            (Corrupt::Heads, Direction::Down) => {
                chunk.starts_with(b"HTTP/1.1 ").then(|| dice.below(HEAD_BYTES) as usize)
            }
            (Corrupt::Bodies, Direction::Up) => in_body(chunk, self.of_put),
            (Corrupt::Batches | Corrupt::Heads, Direction::Up)
            | (Corrupt::Bodies, Direction::Down) => None,
        };
        let Some(place) = place else { return false };
        chunk[place] ^= 1 << dice.below(7);
        true
    }
}

/// A place behind the checksum of one of the record batches (of version 2) that begin here.
fn covered_by_checksum(chunk: &[u8], dice: &mut Dice) -> Option<usize> {
    let number = |at: usize, bytes: usize| {
        chunk
            .get(at..at + bytes)?
            .iter()
            .try_fold(0_i64, |number, byte| number.checked_mul(256)?.checked_add(i64::from(*byte)))
    };
    // Base offset, length, leader's epoch, version: zeros that no line of text holds.
    let end_of = |at: usize| {
        let is_offset = number(at, 8)? < 1 << 32;
        let length = number(at + 8, 4)?;
        let is_head = number(at + 12, 4)? < 1 << 16 && chunk.get(at + 16) == Some(&2);
        let is_length = (49..1 << 24).contains(&length);
        (is_offset && is_head && is_length).then_some(at + 12 + length as usize)
    };
    let ends = (0..chunk.len()).filter_map(|at| Some((at, end_of(at)?)));
    let covered = ends.map(|(at, end)| (at + BATCH_HEAD_BYTES, end.min(chunk.len())));
    let batches: Vec<(usize, usize)> = covered.filter(|(start, end)| start < end).collect();
    let (start, end) = *batches.get(dice.below(batches.len().max(1) as u64) as usize)?;
    Some(start + dice.below((end - start) as u64) as usize)
}

/// The middle of what follows the head of a `PUT`, or of a chunk without one.
fn in_body(chunk: &[u8], of_put: bool) -> Option<usize> {
    if !begins_request(chunk) {
        return of_put.then_some(chunk.len() / 2);
    }
    if !chunk.starts_with(b"PUT ") {
        return None;
    }
    let head = chunk.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    (head + 16 < chunk.len()).then(|| head + (chunk.len() - head) / 2)
}

fn begins_request(chunk: &[u8]) -> bool {
    let methods: [&[u8]; 5] = [b"PUT ", b"GET ", b"HEAD ", b"POST ", b"DELETE "];
    methods.iter().any(|method| chunk.starts_with(method))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(records: &[u8]) -> Vec<u8> {
        let mut batch = 7_i64.to_be_bytes().to_vec();
        batch.extend((9 + 40 + records.len() as i32).to_be_bytes());
        batch.extend([0, 0, 0, 0, 2, 1, 2, 3, 4]);
        batch.extend([9; 40]);
        batch.extend(records);
        batch
    }

    #[test]
    fn only_what_a_checksum_covers_is_changed() {
        let mut answer = b"some head of an answer".to_vec();
        let start = answer.len();
        answer.extend(batch(&[b'x'; 500]));
        let end = answer.len();
        answer.extend(b"and more");
        for seed in 0..500 {
            let mut changed = answer.clone();
            assert!(down(seed).corrupt(Corrupt::Batches, &mut changed));
            let differ = (0..answer.len()).filter(|at| answer[*at] != changed[*at]);
            let differ: Vec<usize> = differ.collect();
            assert_eq!(differ.len(), 1);
            assert!((start + BATCH_HEAD_BYTES..end).contains(&differ[0]), "{differ:?}");
        }
        assert!(!down(1).corrupt(Corrupt::Batches, &mut b"GET / HTTP/1.1".repeat(90)));
        assert!(!up().corrupt(Corrupt::Batches, &mut answer));
    }

    fn down(seed: u64) -> Pipe {
        Pipe::new(Direction::Down, seed, 1)
    }

    fn up() -> Pipe {
        Pipe::new(Direction::Up, 1, 1)
    }

    #[test]
    fn heads_and_bodies_are_told_apart() {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n{}".to_vec();
        assert!(down(1).corrupt(Corrupt::Heads, &mut answer));
        assert!(!answer.starts_with(b"HTTP/") && answer.ends_with(b"/1.1 200 OK\r\n\r\n{}"));
        let request = [b"PUT /b/k HTTP/1.1\r\nhost: a\r\n\r\n".to_vec(), vec![7; 100]].concat();
        let mut changed = request.clone();
        let mut pipe = up();
        pipe.see(&request);
        assert!(pipe.corrupt(Corrupt::Bodies, &mut changed));
        assert_eq!(changed[..request.len() - 100], request[..request.len() - 100]);
        assert_ne!(changed, request);
        assert!(pipe.corrupt(Corrupt::Bodies, &mut [7; 100]));
        let get = b"GET / HTTP/1.1\r\n\r\n";
        pipe.see(get);
        assert!(!pipe.corrupt(Corrupt::Bodies, &mut get.to_vec()));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bytes_go_on_until_they_are_harmed() {
        let echo = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = echo.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            loop {
                let (stream, _) = echo.accept().await.unwrap();
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.into_split();
                    tokio::io::copy(&mut from, &mut to).await.ok();
                });
            }
        });
        let wire = Wire::start(port, 1).unwrap();
        let ask = async |text: &[u8]| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, wire.port())).await?;
            stream.write_all(text).await?;
            let mut answer = vec![0; text.len()];
            stream.read_exact(&mut answer).await.map(|_| answer)
        };
        assert_eq!(ask(b"hello").await.unwrap(), b"hello");
        assert_eq!(wire.harmed(), 0);
        for harm in [Harm::Refuse, Harm::Cut(1)] {
            wire.set_harm(harm);
            assert!(ask(b"hello").await.is_err(), "{harm:?}");
        }
        wire.set_harm(Harm::Stall);
        let stalled = tokio::time::timeout(Duration::from_millis(200), ask(b"hello"));
        assert!(stalled.await.is_err());
        wire.set_harm(Harm::None);
        assert_eq!(ask(b"again").await.unwrap(), b"again");
        assert!(wire.harmed() >= 3, "{}", wire.harmed());
        server.abort();
    }
}
