//! Sizes, names and headers of files.

use super::Finding;
use super::files::RepositoryFile;

const README_LINES: usize = 100;
const MAIN_LINES: usize = 35;
/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 6] = ["utils", "util", "common", "helpers", "helper", "misc"];

/// Checks every file's name, the length of README and mains, and that each library file says its role.
pub(crate) fn check(files: &[RepositoryFile]) -> Vec<Finding> {
    files.iter().flat_map(|file| [name(file), length(file), header(file)].into_iter().flatten()).collect()
}

fn name(file: &RepositoryFile) -> Option<Finding> {
    let stems = file.path.split('/').map(|part| part.split('.').find(|stem| !stem.is_empty()).unwrap_or(part));
    let empty = stems.into_iter().find(|stem| EMPTY_NAMES.contains(stem))?;
    Some(Finding::new(&file.path, format!("the name `{empty}` says nothing: name it after what it does")))
}

fn length(file: &RepositoryFile) -> Option<Finding> {
    let limit = match file.path.as_str() {
        "README.md" => README_LINES,
        path if path.starts_with("functions/") && path.ends_with("/src/main.rs") => MAIN_LINES,
        _ => return None,
    };
    let lines = file.text.lines().count();
    (lines > limit).then(|| Finding::new(&file.path, format!("{lines} lines, allowed are {limit}")))
}

fn header(file: &RepositoryFile) -> Option<Finding> {
    let in_sources = file.is("rs") && (file.path.starts_with("shared/src/") || file.path.starts_with("xtask/src/"));
    (in_sources && !file.text.starts_with("//!"))
        .then(|| Finding::new(&file.path, "starts without `//!`: say the file's role and what it must not know"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> RepositoryFile {
        RepositoryFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_long_main_a_bare_file_and_an_empty_name_are_found() {
        let files = [
            file("functions/x/src/main.rs", &"line\n".repeat(36)),
            file("shared/src/domain/money.rs", "pub struct X;\n"),
            file("shared/src/utils/mod.rs", "//! Things.\n"),
        ];
        let places: Vec<String> = check(&files).into_iter().map(|finding| finding.place).collect();
        assert_eq!(places, ["functions/x/src/main.rs", "shared/src/domain/money.rs", "shared/src/utils/mod.rs"]);
    }

    #[test]
    fn what_keeps_the_rules_passes() {
        let files = [
            file("functions/x/src/main.rs", &"line\n".repeat(35)),
            file("README.md", &"line\n".repeat(100)),
            file(".gitignore", ""),
            file("shared/src/lib.rs", "//! Role.\n"),
        ];
        assert_eq!(check(&files), []);
    }
}
