//! Any reply of the messages API is read as `replies` says.
#![no_main]

mod replies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| replies::hold(ipc_proto::config::ProviderKind::Anthropic, bytes));
