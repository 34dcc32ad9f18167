//! The rules of delivery that the simulation can switch off one by one, to prove that it notices.
//! In every real run all of them hold: without the `mutations` feature there is no way to make a
//! value of [`DeliveryRules`] in which one does not.
//!
//! Invariant: a rule that no simulated fault can break is not tested, so every field here is named
//! by the mutation check in `tests/tests/simulation/main.rs`. What each rule is for:
//! `docs/delivery.md`.

/// A rule's name, and what switches it off.
#[cfg(feature = "mutations")]
pub type Mutation = (&'static str, fn(&mut DeliveryRules));

/// One switch a rule; `true` means the rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryRules {
    /// A gap blocks the watermark: a later settled line never carries it past an unsettled one.
    pub watermark_is_contiguous: bool,
    /// The watermark falls back to the first line of a joined record it would cut.
    pub watermark_never_cuts_a_record: bool,
    /// Lines held by the joining stage count as unsettled.
    pub open_lines_are_unsettled: bool,
    /// Pieces of a line count as unsettled until its last one has come.
    pub pieces_are_unsettled: bool,
    /// A batch that was transformed ahead is transformed again where the one before it has left
    /// a piece of a line.
    pub pieces_reach_the_next_batch: bool,
    /// Own watermarks count only under the fingerprint they were written with.
    pub own_watermarks_need_their_fingerprint: bool,
    /// After a swap of tables own watermarks are forgotten, and committed again only once the
    /// common one has passed what was read before.
    pub table_swap_forgets_own_watermarks: bool,
    /// A chain's first touch reads back to the first footer below the generation's start.
    pub first_touch_reads_back: bool,
    /// The chain's running maximum never falls from one object to the next.
    pub chain_maximum_runs: bool,
    /// A footer that cannot be read counts as an unknown maximum, not as an empty chain.
    pub unread_footer_is_unknown: bool,
    /// Objects are created exclusively: what is there is never overwritten.
    pub objects_are_created_exclusively: bool,
    /// After a lost race the winner's footer is read and what it holds is dropped.
    pub lost_race_reads_the_footer: bool,
    /// Record time is part of a line's identity: a re-created topic has other lines.
    pub record_time_is_identity: bool,
    /// A bulk answer is read item by item; a short or unreadable one settles nothing.
    pub bulk_answers_are_read_by_item: bool,
    /// A conflict on our own id means the line is there.
    pub own_conflict_is_done: bool,
    /// A dead letter is delivered before its line settles.
    pub dead_letter_before_settling: bool,
    /// Lines of a halted destination stay unsettled.
    pub halted_lines_stay_unsettled: bool,
    /// What did not settle before a reload is read again from the watermark.
    pub reload_reads_again: bool,
    /// Records that were read for an earlier generation are dropped.
    pub stale_records_are_dropped: bool,
}

impl DeliveryRules {
    /// All rules hold.
    pub const fn all() -> DeliveryRules {
        DeliveryRules {
            watermark_is_contiguous: true,
            watermark_never_cuts_a_record: true,
            open_lines_are_unsettled: true,
            pieces_are_unsettled: true,
            pieces_reach_the_next_batch: true,
            own_watermarks_need_their_fingerprint: true,
            table_swap_forgets_own_watermarks: true,
            first_touch_reads_back: true,
            chain_maximum_runs: true,
            unread_footer_is_unknown: true,
            objects_are_created_exclusively: true,
            lost_race_reads_the_footer: true,
            record_time_is_identity: true,
            bulk_answers_are_read_by_item: true,
            own_conflict_is_done: true,
            dead_letter_before_settling: true,
            halted_lines_stay_unsettled: true,
            reload_reads_again: true,
            stale_records_are_dropped: true,
        }
    }

    /// Every rule by name, with a function that switches it off.
    #[cfg(feature = "mutations")]
    pub const MUTATIONS: &'static [Mutation] = &[
        ("watermark_is_contiguous", |rules| rules.watermark_is_contiguous = false),
        ("watermark_never_cuts_a_record", |rules| rules.watermark_never_cuts_a_record = false),
        ("open_lines_are_unsettled", |rules| rules.open_lines_are_unsettled = false),
        ("pieces_are_unsettled", |rules| rules.pieces_are_unsettled = false),
        ("pieces_reach_the_next_batch", |rules| rules.pieces_reach_the_next_batch = false),
        ("own_watermarks_need_their_fingerprint", |rules| {
            rules.own_watermarks_need_their_fingerprint = false;
        }),
        ("table_swap_forgets_own_watermarks", |rules| {
            rules.table_swap_forgets_own_watermarks = false;
        }),
        ("first_touch_reads_back", |rules| rules.first_touch_reads_back = false),
        ("chain_maximum_runs", |rules| rules.chain_maximum_runs = false),
        ("unread_footer_is_unknown", |rules| rules.unread_footer_is_unknown = false),
        ("objects_are_created_exclusively", |rules| rules.objects_are_created_exclusively = false),
        ("lost_race_reads_the_footer", |rules| rules.lost_race_reads_the_footer = false),
        ("record_time_is_identity", |rules| rules.record_time_is_identity = false),
        ("bulk_answers_are_read_by_item", |rules| rules.bulk_answers_are_read_by_item = false),
        ("own_conflict_is_done", |rules| rules.own_conflict_is_done = false),
        ("dead_letter_before_settling", |rules| rules.dead_letter_before_settling = false),
        ("halted_lines_stay_unsettled", |rules| rules.halted_lines_stay_unsettled = false),
        ("reload_reads_again", |rules| rules.reload_reads_again = false),
        ("stale_records_are_dropped", |rules| rules.stale_records_are_dropped = false),
    ];
}
