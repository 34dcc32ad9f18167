//! OpenTelemetry's logs, in JSON and in protobuf: resources, scopes, records.
//!
//! Invariant: both encodings of one request give the same envelopes; a request is taken when all of
//! it has the shape, or not at all, so that no line is lost. Next on the trip: [`json`], [`wire`].

pub(super) mod json;
pub(super) mod wire;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::many::Many;

const RESOURCE: &str = "resource.";
const SCOPE: &str = "scope.";
const SCOPE_ATTRIBUTES: &str = "scope.attributes.";
const ATTRIBUTES: &str = "attributes.";

/// Finds the host among attributes.
#[derive(Clone, Copy, Default)]
struct Hosts {
    is_named: bool,
}

impl Hosts {
    /// Looks at an attribute of a resource or of a record.
    fn look(&mut self, name: &str, value: &str, many: &mut Many<'_, '_>) {
        let is_name = name == "host.name";
        if !value.is_empty() && (is_name || (name == "k8s.node.name" && !self.is_named)) {
            self.is_named |= is_name;
            many.set_host(value);
        }
    }
}

/// Nanoseconds of a record: its own time, else when it was observed; zero means unknown.
fn time_ns(own: u64, observed: u64) -> Option<i64> {
    let time = [own, observed].into_iter().find(|time| *time > 0)?;
    i64::try_from(time).ok()
}

/// JSON has bytes in either alphabet of base64, padded or not; `None` when it is neither.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    const CONFIG: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const ALPHABETS: [GeneralPurpose; 2] =
        [GeneralPurpose::new(&STANDARD, CONFIG), GeneralPurpose::new(&URL_SAFE, CONFIG)];
    ALPHABETS.iter().find_map(|alphabet| alphabet.decode(text).ok())
}
