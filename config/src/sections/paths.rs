//! What stands where a path leads, as far as it can be told before a start. Invariant: only warns,
//! for what is not there may come before `run` does; nothing is made, and only files are opened.
//! Next: `rules.rs`.

use crate::document::Text;
use crate::reader::Reader;
use std::io::ErrorKind;
use std::path::Path;

/// Warns of a file that could not be read.
pub(super) fn warn_of_source(reader: &Reader<'_>, path: &Path, text: &Text) {
    let (problem, help) = match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => ("is a folder", "name a file in it"),
        // Opening a pipe would wait for its other end.
        Ok(found) if !found.is_file() => return,
        Ok(_) => match std::fs::File::open(path) {
            Ok(_) => return,
            Err(_) => ("cannot be read", "let this user read it"),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            ("does not exist", "a relative path starts at the folder of this file")
        }
        Err(_) => ("cannot be looked at", "let this user read it and its folder"),
    };
    let message = format!("`{}`: \"{}\" {problem}", reader.name_of("path"), text.shown());
    reader.context.warn(&text.place, message, help);
}

/// Warns of a folder that cannot be one, for a file stands in its place or on its way.
pub(super) fn warn_of_folder(reader: &Reader<'_>, path: &Path, text: &Text) {
    let nearest = path.ancestors().find_map(|it| std::fs::metadata(it).ok());
    if nearest.is_some_and(|found| !found.is_dir()) {
        let name = reader.name_of("path");
        let message = format!("`{name}`: \"{}\" cannot be a folder: a file is there", text.shown());
        reader.context.warn(&text.place, message, "name a folder; it is made where it is missing");
    }
}
