//! The C library's allocator, told to keep fewer heaps.
//!
//! What it is for: glibc gives nearly every thread a heap of its own, and what one thread frees of
//! another's stays there. Records are allocated by librdkafka's threads and freed by ours, so with
//! one heap a process of two processors peaks at three quarters of the memory (docs/benchmarks.md)
//! and is no slower. Off the trip: called once, before any thread is started.

/// Heaps for this many processors: one lock must not be everybody's.
const PROCESSORS_PER_HEAP: usize = 4;

/// Bounds the number of heaps. Does nothing where the C library is not glibc, or where the user has
/// set `MALLOC_ARENA_MAX`.
pub(crate) fn bound_heaps() {
    if std::env::var_os("MALLOC_ARENA_MAX").is_some() {
        return;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    set_heaps(processors.div_ceil(PROCESSORS_PER_HEAP));
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "mallopt has no safe form")]
fn set_heaps(count: usize) {
    let count = libc::c_int::try_from(count).unwrap_or(libc::c_int::MAX);
    // SAFETY: mallopt takes two integers by value and keeps no pointer; it may be called at any
    // time, from any thread (mallopt(3): MT-Safe init, and main has started no thread yet).
    let is_set = unsafe { libc::mallopt(libc::M_ARENA_MAX, count) } == 1;
    if !is_set {
        tracing::debug!(count, "the allocator keeps its number of heaps");
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn set_heaps(_count: usize) {}
