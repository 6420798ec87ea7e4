#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windlass_parsers_fuzz::description::check(bytes));
