//! The formats of training logs: what frameworks, libraries, schedulers and the kernel of a
//! training cluster write, one line at a time.
//!
//! What it is for: `as = "training"` takes any of them, `as = "nccl"` one. A line is made ready
//! once ([`line`]), its first bytes leave a few formats ([`shape`]), and the first of these that
//! accepts it gives the fields; a line that none accepts is unmatched. Invariant: each file reads
//! its own format and knows no other one's contents; work grows with the line and no faster. Next
//! on the trip: [`crate::fields`].
//!
//! Names that mean the same in every format:
//!
//! | field | meaning |
//! |---|---|
//! | `format` | the name of the format; a key of the line never gets this name |
//! | `log_time` | the text of the time; the fields say which of [`stamp::TIMES`] it is |
//! | `level`, `component`, `content` | as printed; the component is a logger or a source file |
//! | `rank`, `local_rank`, `infra_rank`, `infra_local_rank` | of the process, where it is said |
//! | `host`, `pid`, `thread`, `device`, `process` | machine, process, its device and program |
//! | `file`, `line`, `function` | the place in the source, where the component is not the file |
//! | `uptime` | seconds since the machine was started |
//! | `clock` | a time of day without a date |
//! | `exception`, `exception_message` | class and message of what ended a traceback |
//! | `xid`, `sxid`, `pci` | codes of GPUs and switches, and the device |
//! | `iteration`, `iter`, `step`, `epoch` and these with `_total` | progress |
//! | anything else | a printed key in snake case with its unit: `lm_loss`, `memory_gib` |

mod bar;
mod contents;
mod line;
mod numbers;
mod pairs;
mod shape;
mod stamp;
mod table;
mod words;

mod c10;
mod glog;
mod torch;

mod absl;
mod klog;
mod xla;

mod nccl;

mod deepspeed;
mod megatron;

mod dict;
mod hf_trainer;
mod llama_factory;
mod transformers;

mod accelerate;
mod lightning;
mod rich;

mod iso;
mod swift;

mod nemo;
mod nvrx;

mod ray;
mod vllm;

mod loguru;
mod stdlib;
mod structlog;

mod colossalai;
mod fairseq;
mod mmengine;
mod torchtitan;

mod kernel;
mod logrus;
mod slurm;
mod syslog;

mod fabric_manager;
mod nvidia_smi;

mod metrics;
mod progress;

mod mllog;
mod python_warnings;
mod traceback;
mod ucx;
mod wandb;

pub(super) use stamp::TIMES;

use super::writer::{Names, Read, Writer};
use crate::fields::{Duplicates, FieldKind, Piece};
use crate::grok::Reason;
use line::Line;
use shape::Shapes;
use stamp::Form;
use table::{SHAPES, TABLE};

/// One format of training logs.
#[derive(Debug)]
pub struct TrainingFormat {
    /// The word for `as`, and the value of the field `format`.
    pub name: &'static str,
    /// What writes such lines.
    pub about: &'static str,
    /// A line of it.
    pub sample: &'static str,
    /// Beginnings of its lines, see [`shape`].
    shapes: &'static [&'static str],
    /// How its times are written.
    forms: &'static [Form],
    read: fn(&mut Writer<'_>, &Line<'_>) -> Read,
}

impl TrainingFormat {
    /// How its times are written: some of the formats of [`super::Format::time`].
    pub fn times(&self) -> impl Iterator<Item = &'static str> {
        self.forms.iter().flat_map(|form| form.indices()).map(|index| TIMES[index])
    }
}

/// The formats of training logs that are asked for: all of them or one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Training {
    /// A bit for each row of the table.
    rows: u64,
}

/// Names of fields, as all formats of training have them.
pub(super) const NAMES: Names = Names { time: "log_time", host: "host" };

impl Training {
    /// All of them; a line is of the first format of [`Training::formats`] that accepts it.
    pub const fn all() -> Training {
        Training { rows: if TABLE.len() == 64 { u64::MAX } else { (1 << TABLE.len()) - 1 } }
    }

    /// One of them by its name; `None` where there is none of that name.
    pub fn named(name: &str) -> Option<Training> {
        let row = TABLE.iter().position(|row| row.name == name)?;
        Some(Training { rows: 1 << row })
    }

    /// The table, in the order in which they are tried.
    pub const fn formats() -> &'static [TrainingFormat] {
        &TABLE
    }

    /// Reads a line.
    pub(super) fn read(self, writer: &mut Writer<'_>) -> Read {
        let line = Line::new(writer.text);
        let mut left = SHAPES.of(&line) & self.rows;
        while left != 0 {
            let row = &TABLE[left.trailing_zeros() as usize];
            left &= left - 1;
            match Training::try_one(row, writer, &line) {
                Err(Reason::NoMatch | Reason::Invalid) => writer.fields.clear(),
                result => return result,
            }
        }
        Err(Reason::NoMatch)
    }

    fn try_one(row: &TrainingFormat, writer: &mut Writer<'_>, line: &Line<'_>) -> Read {
        if let Some(rank) = line.rank {
            writer.rank(rank)?;
        }
        (row.read)(writer, line)?;
        if let Some(local_rank) = line.local_rank {
            let value = writer.piece(local_rank);
            let name = Piece::Fixed("local_rank");
            writer.add(name, value, FieldKind::Int, Duplicates::First)?;
        }
        writer.fixed("format", row.name)
    }
}
