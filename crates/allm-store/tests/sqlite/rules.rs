//! The rules of every store.

use super::Folder;
use super::support::{behaviours, filters, hints};

macro_rules! rules {
    ($( $(#[$meta:meta])* fn $name:ident => $rule:path; )+) => {$(
        $(#[$meta])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let folder = Folder::new();
            $rule(&folder.store().await).await;
        }
    )+};
}

rules! {
    fn s107_one_of_a_hundred_creators_succeeds => behaviours::one_of_many_creators_succeeds;
    fn s108_s110_s111_an_append_is_checked_in_order => behaviours::an_append_is_checked_in_order;
    fn s112_load_gives_the_later_entries => behaviours::later_entries_are_loaded_in_order;
    fn s113_every_filter_agrees_with_the_naive_one => filters::every_filter_agrees_with_the_naive_one;
    fn s114_paging_shows_each_lasting_session_once => behaviours::paging_shows_each_lasting_session_once;
    fn s115_long_content_comes_back => behaviours::long_content_comes_back;
    fn s115_the_longest_entry_is_taken => behaviours::the_longest_entry_is_taken;
    fn s116_odd_texts_are_matched_literally => behaviours::odd_texts_are_matched_literally;
    fn s124_s125_s126_fences_grow => behaviours::fences_grow;
    fn fifty_writers_lose_nothing => behaviours::fifty_writers_lose_nothing;
    fn s132_s169_s170_a_deleted_session_is_gone => behaviours::a_deleted_session_is_gone;
    fn s172_trimming_needs_a_snapshot => behaviours::trimming_needs_a_snapshot;
    fn a_head_is_what_was_last_written => behaviours::a_head_is_what_was_last_written;
    fn a_hint_comes_after_an_append => hints::a_hint_comes_after_an_append;
    fn s209_a_driver_is_told_of_inputs_only => hints::a_driver_is_told_of_inputs_only;
}
