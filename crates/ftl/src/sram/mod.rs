//! SRAM: the pool of buffers, the write buffer, the cache of single entries.

pub mod buffer;
pub mod entry_cache;
pub mod pool;
