//! What people type: one file a command. This file reads the arguments, starts the command, and
//! turns what became of it into an exit code.
//!
//! Invariant: data goes to standard output and everything else to standard error; the exit code is
//! 0 done, 1 the thing failed, 2 the input was wrong, 3 a service could not be reached or the
//! answer is partial, 130 interrupted. Next stop: [`run`], the command that carries lines.

mod archive;
mod batch;
mod check;
mod connect;
mod console;
mod date;
mod demo;
mod diff;
mod dissect;
mod error;
mod grok;
mod index_template;
mod input;
mod keep;
mod marked;
mod parse;
mod redrive;
mod reload;
mod run;
mod setup;
mod signals;
mod test;
mod trial;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use riverhog_config::{Config, Env, ProcessEnv};
use tokio::runtime::{Builder, Runtime};

pub(crate) use console::{ColorWhen, Console, Format, plural};
pub(crate) use error::CommandError;

/// The configuration that is read when none is named.
const CONFIG_DEFAULT: &str = "riverhog.toml";

/// A streaming log pipeline for AI-training clusters: Kafka to search and archive, nothing lost,
/// nothing twice.
#[derive(Debug, Parser)]
#[command(name = "riverhog", bin_name = "riverhog", version, max_term_width = 100)]
struct Cli {
    /// Colour what is written: auto, always or never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    color: ColorWhen,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Carry lines from the sources to the sinks until stopped
    Run(run::RunArgs),
    /// Say everything that is wrong with a configuration, and what each sink gives
    Check(check::CheckArgs),
    /// Run the configuration's `[[tests]]`
    Test(test::TestArgs),
    /// Make events of the lines on standard input, without any service
    Parse(parse::ParseArgs),
    /// Show the whole thing on embedded parts: no service, no configuration
    Demo(demo::DemoArgs),
    /// Try a grok pattern on the lines on standard input
    Grok(grok::GrokArgs),
    /// Try a dissect mapping on the lines on standard input
    Dissect(dissect::DissectArgs),
    /// Read the times on standard input
    Date(date::DateArgs),
    /// Prepare the stores: index templates; buckets are looked at
    Setup(setup::SetupArgs),
    /// Deliver dead letters again
    Redrive(redrive::RedriveArgs),
    /// Look after archives
    Archive(archive::ArchiveArgs),
    /// Print the JSON schema of configurations, for editors
    Schema,
}

/// `CONFIG`, as several commands take it.
#[derive(Debug, Args)]
pub(crate) struct ConfigArg {
    /// The configuration: a file, or a folder of them
    #[arg(value_name = "CONFIG", default_value = CONFIG_DEFAULT)]
    path: PathBuf,
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked to.
    Done,
    /// What it was about failed: a test, a check, a run.
    Failed,
    /// What it was given was wrong.
    WrongInput,
    /// A service could not be reached, or something is left to do.
    Partial,
    /// Somebody could not wait.
    Interrupted,
}

impl Exit {
    fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::WrongInput => 2,
            Exit::Partial => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// Runs what the command line says and answers the process's exit code.
pub fn main() -> ExitCode {
    crate::allocator::bound_heaps();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too, on standard output and with code 0.
            let code = if error.use_stderr() { Exit::WrongInput } else { Exit::Done };
            return if error.print().is_ok() { code.code() } else { Exit::Failed.code() };
        }
    };
    let console = Console::new(cli.color);
    let exit = match command(&cli.command, console) {
        Ok(exit) => exit,
        Err(error) => console.tell_error(&error),
    };
    exit.code()
}

fn command(command: &Command, console: Console) -> Result<Exit, CommandError> {
    match command {
        Command::Run(args) => run::run(args, console),
        Command::Check(args) => check::run(args, console),
        Command::Test(args) => test::run(args, console),
        Command::Parse(args) => parse::run(args, console),
        Command::Demo(args) => demo::run(args, console),
        Command::Grok(args) => grok::run(args, console),
        Command::Dissect(args) => dissect::run(args, console),
        Command::Date(args) => date::run(args, console),
        Command::Setup(args) => setup::run(args, console),
        Command::Redrive(args) => redrive::run(args, console),
        Command::Archive(args) => archive::run(args, console),
        Command::Schema => schema(console),
    }
}

fn schema(console: Console) -> Result<Exit, CommandError> {
    let mut out = console.out();
    out.write_all(riverhog_config::schema().trim_end().as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Loads a configuration; its warnings go to standard error.
fn load(path: &Path, console: Console) -> Result<Config, CommandError> {
    load_in(path, &Trying, console)
}

/// As [`load`], for a process that is to run: files that are open to all are warned of too.
fn load_to_run(path: &Path, console: Console) -> Result<Config, CommandError> {
    load_in(path, &ProcessEnv, console)
}

fn load_in(path: &Path, env: &dyn Env, console: Console) -> Result<Config, CommandError> {
    let config = riverhog_config::load(path, env).map_err(CommandError::Config)?;
    if !config.warnings.is_empty() {
        console.tell(&riverhog_config::render_all(&config.warnings, console.colors_err()));
    }
    Ok(config)
}

/// The surroundings of a command that tries something out.
struct Trying;

impl Env for Trying {
    fn var(&self, name: &str) -> Option<String> {
        ProcessEnv.var(name)
    }
}

/// The runtime of commands that talk to services.
fn runtime() -> Result<Runtime, CommandError> {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::failed(format!("cannot start threads: {error}")))
}
