//! Memory that the allocator keeps although nothing is in it.

/// Gives memory that is free back to the system; says whether there was any. Takes milliseconds when there
/// is much, and holds up those who allocate meanwhile. Does nothing where the C library is not glibc.
#[must_use]
pub fn release_free_memory() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes no pointer and may be called at any time, from any thread.
        unsafe { libc::malloc_trim(0) != 0 }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn free_memory_can_be_given_back_at_any_time() {
        drop(vec![1_u8; 1 << 20]);
        // Whether there was any does not matter.
        let _ = super::release_free_memory();
    }
}
