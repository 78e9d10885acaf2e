//! What recovery needs beside the table: the record of log blocks, and the journal of trims.

pub mod records;
pub mod trims;
