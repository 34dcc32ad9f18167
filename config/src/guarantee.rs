//! What each sink of a configuration really gives, for `check` to print. Invariant: says
//! "effectively once" only where the sink can tell what it already holds. Next stop: none.

use crate::Config;
use crate::settings::{ElasticsearchSink, Exclusive, SinkKind};
use riverhog_rules::Op;

/// One sentence for each sink, in the order of the file.
pub fn guarantees(config: &Config) -> Vec<(String, String)> {
    let sentence = |kind: &SinkKind| match kind {
        SinkKind::Elasticsearch(sink) => of_elasticsearch(sink),
        SinkKind::S3(sink) => match sink.exclusive {
            Exclusive::Create | Exclusive::Oss | Exclusive::Cos => ARCHIVE,
            Exclusive::None => ARCHIVE_SHARED,
        },
        SinkKind::Local(_) => ARCHIVE,
    };
    let pair = |sink: &crate::Sink| (sink.name.clone(), sentence(&sink.kind).to_owned());
    config.sinks.iter().map(pair).collect()
}

const ARCHIVE: &str = "effectively once while configuration and program are unchanged: objects are \
                       created exclusively, and their event ids are read back";

const ARCHIVE_SHARED: &str = "at least once: with `exclusive = \"none\"` two writers may store the \
                              same lines, and nothing is overwritten";

const FIXED_INDEX: &str = "effectively once while configuration and program are unchanged, in \
                           plain indices: the event id is the document's; at least once through \
                           an alias or data stream that rolls over";

const NO_IDS: &str = "at least once: VictoriaLogs keeps no document ids, so a line that is sent \
                      again is stored again";

const DATA_STREAM: &str = "at least once: a data stream knows an event id within one backing index, \
                           so a line that is sent again after a rollover is stored again";

const OVERWRITTEN: &str = "effectively once while configuration and program are unchanged, in plain \
                           indices: the event id is the document's, and a line that is sent again \
                           replaces it; at least once through an alias that rolls over";

fn of_elasticsearch(sink: &ElasticsearchSink) -> &'static str {
    if sink.urls.iter().any(|url| url.reveal().contains("/insert/")) {
        NO_IDS
    } else if sink.data_stream {
        DATA_STREAM
    } else if sink.op == Op::Index {
        OVERWRITTEN
    } else {
        FIXED_INDEX
    }
}
