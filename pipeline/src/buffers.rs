//! Event buffers that are used again: the documents of a batch are megabytes, and fresh memory
//! costs a page fault for every four kilobytes of them.
//!
//! Invariant: a buffer is taken only for work of about its size, so that what a batch holds stays
//! near what its memory permit says. Next stop: [`crate::transform`], which fills them.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use riverhog_rules::event::EventBuffer;

/// Bytes of idle buffers that are kept.
const IDLE_BYTES_MAX: usize = 8 << 20;

/// A buffer may be this many times as large as what is asked for.
const SLACK: usize = 2;

/// Idle buffers; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct EventBuffers {
    idle: Arc<Mutex<Vec<EventBuffer>>>,
}

/// A batch's events; their memory goes back to where it came from.
#[derive(Debug, Default)]
pub struct Events {
    buffer: EventBuffer,
    from: Option<EventBuffers>,
}

impl EventBuffers {
    /// An empty buffer with room for this many bytes of documents.
    pub fn take(&self, bytes: usize) -> Events {
        let buffer = self.find(bytes).unwrap_or_else(|| {
            let mut fresh = EventBuffer::new();
            fresh.bytes.reserve(bytes);
            fresh
        });
        Events { buffer, from: Some(self.clone()) }
    }

    fn find(&self, bytes: usize) -> Option<EventBuffer> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // The one that was used last is warmest.
        let fits = |buffer: &EventBuffer| {
            (bytes..=bytes.saturating_mul(SLACK)).contains(&buffer.bytes.capacity())
        };
        let found = idle.iter().rposition(fits)?;
        Some(idle.remove(found))
    }

    fn give_back(&self, mut buffer: EventBuffer) {
        buffer.clear();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(buffer);
        let mut bytes: usize = idle.iter().map(|buffer| buffer.bytes.capacity()).sum();
        // The oldest goes first: its size may not be asked for any more.
        let mut surplus = 0;
        while bytes > IDLE_BYTES_MAX {
            bytes -= idle[surplus].bytes.capacity();
            surplus += 1;
        }
        let surplus: Vec<EventBuffer> = idle.drain(..surplus).collect();
        drop(idle);
        // Given back to the system without the lock.
        drop(surplus);
    }
}

impl From<EventBuffer> for Events {
    /// Events of a buffer that is not used again.
    fn from(buffer: EventBuffer) -> Events {
        Events { buffer, from: None }
    }
}

impl Deref for Events {
    type Target = EventBuffer;

    fn deref(&self) -> &EventBuffer {
        &self.buffer
    }
}

impl DerefMut for Events {
    fn deref_mut(&mut self) -> &mut EventBuffer {
        &mut self.buffer
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(from) = self.from.take() {
            from.give_back(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(buffers: &EventBuffers) -> Vec<usize> {
        let idle = buffers.idle.lock().unwrap();
        idle.iter().map(|buffer| buffer.bytes.capacity()).collect()
    }

    #[test]
    fn a_buffer_of_about_the_size_is_used_again_and_is_empty() {
        let buffers = EventBuffers::default();
        let mut events = buffers.take(1000);
        events.bytes.extend_from_slice(b"left over");
        let place = events.bytes.as_ptr();
        drop(events);
        let small = buffers.take(100);
        let again = buffers.take(900);
        assert_eq!((again.bytes.as_ptr(), again.bytes.len()), (place, 0));
        drop((small, again));
        assert_eq!(idle(&buffers).len(), 2);
    }

    #[test]
    fn what_lies_idle_is_bounded_and_the_oldest_goes() {
        let buffers = EventBuffers::default();
        let taken: Vec<Events> = (0..5).map(|_| buffers.take(2 << 20)).collect();
        let large = buffers.take(IDLE_BYTES_MAX + 1);
        drop(taken);
        assert_eq!(idle(&buffers), [2 << 20; 4]);
        drop(large);
        assert!(idle(&buffers).is_empty());
    }
}
