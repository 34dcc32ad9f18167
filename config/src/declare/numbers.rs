//! `[numbers]`. Next: `sources.rs`.

use super::{Kind, Section, Setting};

/// `[numbers]`
pub(crate) static NUMBERS: Section = Section {
    title: "`[numbers]`",
    doc: "",
    settings: &[
        Setting::new(
            "enabled",
            Kind::Flag,
            "`false`: no number is a metric; all stay in `fields` under their printed names.",
        )
        .default("true"),
        Setting::new(
            "names",
            Kind::TextLists,
            "Printed names of yours, by the metric that they are: `{ loss = [\"my loss\"] }`. Each \
             may be printed with a unit of the metric's kind. They come before those of the table.",
        ),
    ],
    example: "[numbers]\n\
              names = { loss = [\"my loss\"], queue_seconds = [\"wait\"] }\n",
};
