//! The suite that every mapping scheme must pass.

ufsim_testkit::conformance!(no_bitmap = no_bitmap::kind());
