//! The binary `riverhog`: reads the command line and ends with the command's exit code.
//!
//! Invariant: the process ends here and nowhere else, after everything that was started has been
//! dropped. Next stop: `commands/mod.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    riverhog::commands::main()
}
