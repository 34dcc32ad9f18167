//! The golden folders: every bad configuration is refused with exactly the text beside it, every
//! good one loads. `UPDATE=1 cargo test -p riverhog-config` rewrites the texts; review the
//! difference.

use riverhog_config::{Config, Env, Report, Severity, load};
use std::io;
use std::path::{Path, PathBuf};

struct Fixed;

impl Env for Fixed {
    fn var(&self, name: &str) -> Option<String> {
        match name {
            "BROKER" => Some("kafka-1".to_owned()),
            "PASSWORD" | "SECRET" => Some("hunter2".to_owned()),
            _ => None,
        }
    }

    fn program_version(&self) -> &'static str {
        "0.0.0-test"
    }
}

fn loaded(path: &Path) -> Result<Config, Report> {
    load(path, &Fixed)
}

fn paths(folder: &str) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|it| it.is_dir() || it.extension().is_some_and(|it| it == "toml")).collect();
    paths.sort();
    paths
}

fn compare(path: &Path, found: &str) -> Option<String> {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, found).expect("the folder can be written");
        return None;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    (expected != found).then(|| format!("{}:\n{found}", path.display()))
}

#[test]
fn every_bad_configuration_is_refused_with_place_and_cure() {
    let paths = paths("golden/bad");
    assert!(paths.len() >= 45, "{}", paths.len());
    let mut different = Vec::new();
    for path in paths {
        let report = loaded(&path).map(|it| it.fingerprint).expect_err(&path.to_string_lossy());
        let text = report.render(false);
        different.extend(compare(&path.with_extension("stderr"), &text));
        assert!(report.count(Severity::Error) > 0, "{}", path.display());
        assert!(!text.contains("hunter"), "a secret is shown: {text}");
        for problem in &report.diagnostics {
            assert!(!problem.help.is_empty(), "{}: {}", path.display(), problem.message);
            let named = problem.message.contains(&*path.to_string_lossy());
            assert!(problem.place.is_some() || named, "{}", problem.message);
        }
    }
    assert!(different.is_empty(), "run with UPDATE=1 and review:\n{}", different.join("\n"));
}

#[test]
fn every_good_configuration_loads() {
    for path in paths("golden/good") {
        let config = match loaded(&path) {
            Ok(config) => config,
            Err(report) => panic!("{}", report.render(false)),
        };
        let shown = format!("{config:#?}");
        assert!(!shown.contains("hunter2"), "a secret is shown");
        assert_eq!(config.sinks.len(), config.plan.targets.len());
        assert_eq!(config.fingerprint.len(), 16);
    }
}

#[test]
fn a_missing_file_is_a_problem() {
    let report = loaded(Path::new("golden/none.toml")).expect_err("no such file");
    assert_eq!(report.diagnostics.len(), 1);
    assert!(report.diagnostics[0].message.contains("golden/none.toml"));
}

/// With a walk over the file for each of them this takes minutes.
#[test]
fn any_number_of_problems_is_told_with_the_first_in_full() {
    use std::fmt::Write as _;
    let folder = tempfile::tempdir().expect("a folder of our own");
    let path = folder.path().join("a.toml");
    let mut text = "[sources.p]\ntype = 'stdin'\n".to_owned();
    for number in 0..100_000 {
        writeln!(text, "key-{number} = '${{NOT_SET}}'").expect("a string takes all");
    }
    std::fs::write(&path, &text).expect("it can be written");
    let report = loaded(&path).expect_err("none of it is known").to_string();
    assert_eq!(report.matches("error: ").count(), 100);
    // Each key is unknown and its value cannot be resolved; there is no sink either.
    let end = &report[report.len() - 200..];
    assert!(report.contains("a.toml:52:1") && !report.contains("a.toml:53:"), "{end}");
    assert!(end.contains("… and 199901 more"), "{end}");
}

#[test]
fn generated_files_are_current() -> io::Result<()> {
    for (path, found) in [
        ("schema.json", riverhog_config::schema()),
        ("../docs/reference.md", riverhog_config::reference_page()),
    ] {
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &found)?;
        }
        let stale = std::fs::read_to_string(path).unwrap_or_default() != found;
        assert!(!stale, "{path} is stale: run UPDATE=1 cargo test -p riverhog-config");
    }
    Ok(())
}
