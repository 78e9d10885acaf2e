//! All tests of this folder in one program, because every program takes a while to link.

mod kernel_traces;
mod phone_traces;
