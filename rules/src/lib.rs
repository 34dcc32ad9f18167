//! The rules room: from fields to events. Pure state machines: no I/O, no clock, no configuration
//! format; time and everything else comes in as an argument.
//!
//! The trip of a line through this room, one file a stop: [`Transformer::begin_record`] resolves
//! what a record says ([`transform`]), a parse rule reads the line ([`plan`]), the host is looked
//! up ([`hosts`]), secret values leave the line ([`redact`]), labels are set ([`labels`]), routes
//! are asked ([`route`], [`condition`]), destinations are rendered ([`template`], `date`,
//! [`sanitise`]), and the document is encoded once (`encode`, [`json`]) into the batch's buffer
//! ([`event`]). [`origin`] gives each event its id.
//! Names in rules are checked at load ([`names`], [`selector`]) and answered through one seam
//! ([`value`]).
//!
//! Invariant: the same line and record give the same event under one plan, on every machine.

pub mod condition;
pub mod counters;
mod date;
mod digits;
pub mod event;
pub mod expression;
mod hash;
pub mod hosts;
pub mod join;
pub mod json;
pub mod labels;
pub mod names;
pub mod numbers;
pub mod origin;
mod pieces;
pub mod plan;
pub mod redact;
pub mod route;
pub mod sanitise;
pub mod selector;
mod stamp;
pub mod step;
pub mod suggest;
pub mod table;
pub mod template;
pub mod transform;
pub mod value;
pub mod zone;

pub use condition::{Condition, ConditionError};
pub use counters::Counters;
pub use event::{DeadReason, Disposition, DropReason, Event, EventBuffer, EventTarget};
pub use hosts::{HostRule, HostTable};
pub use labels::{Candidate, LabelRule, NODE_RANK, RankRule, Reading};
pub use names::{Name, NameError, Names, Stage};
pub use origin::{EventIdParts, Joined, Origin, join_hash, parse_event_id, write_event_id};
pub use plan::{
    ActionForm, LineParser, Op, ParseRule, Plan, TARGETS_MAX, Target, TimeRule, UnparsedPolicy,
};
pub use redact::{Redact, RedactPattern, RedactRules, Redacted};
pub use route::Route;
pub use sanitise::TargetKind;
pub use selector::Selector;
pub use table::{Table, TableError};
pub use template::{Template, TemplateError};
pub use transform::{Line, ReceivedSource, Record, Transformer, document_sample};
pub use value::{Value, Values};
pub use zone::{Zone, ZoneError};
