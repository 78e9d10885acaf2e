#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ufsim_testkit::fuzz::Target::Descriptions.run()(bytes));
