//! What a configuration says once it is read: plain values with units in their names, for
//! `pipeline` to build sources and sinks from. Invariant: nothing here is left to be parsed,
//! defaulted or checked, and every relative path has been joined to the folder of the file that
//! named it. Next stop: `declare/`, where each setting's default, unit and text are written down
//! once.

mod dead_letter;
mod general;
mod line_test;
mod secret;
mod sink;
mod source;

pub use dead_letter::{DeadLetter, KafkaDeadLetter, LocalDeadLetter};
pub(crate) use general::GeneralSettings;
pub use general::{HttpAccess, HttpSettings};
pub use line_test::{Expectation, LineTest};
pub use secret::Secret;
pub use sink::{
    Auth, BatchSettings, ClientFiles, Compression, ElasticsearchSink, Exclusive, LocalSink,
    ObjectSettings, Records, S3Credentials, S3Sink, Sink, SinkKind, TlsFiles,
};
pub use source::{FileSource, KafkaSource, Source, SourceKind, Start, Topics};
