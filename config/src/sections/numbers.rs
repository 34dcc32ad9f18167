//! `[numbers]`. Names are only read here; `compile/numbers.rs` makes a table of them. Next:
//! `transform.rs`.

use super::TopLevel;
use crate::declare;
use crate::diagnostic::Place;
use crate::document::Text;

/// `[numbers]`
pub(crate) struct NumbersDraft {
    pub(crate) enabled: bool,
    pub(crate) names: Vec<NamesDraft>,
    /// Where `names` stands.
    pub(crate) place: Place,
}

/// A metric and the names that it is printed under.
pub(crate) struct NamesDraft {
    pub(crate) metric: String,
    pub(crate) place: Place,
    pub(crate) printed: Vec<Text>,
}

pub(super) fn read(top: &TopLevel<'_>) -> NumbersDraft {
    let reader = top.one("numbers", &declare::NUMBERS);
    let enabled = reader.flag("enabled").unwrap_or(true);
    let names = reader.text_lists("names").into_iter().map(|(entry, printed)| NamesDraft {
        metric: entry.key.clone(),
        place: entry.key_place.clone(),
        printed,
    });
    let names = names.collect();
    let place = reader.place_of("names");
    reader.reject_unknown();
    NumbersDraft { enabled, names, place }
}
