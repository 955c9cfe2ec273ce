//! The command: arguments, tracing, runtime, exit code.

fn main() {}
