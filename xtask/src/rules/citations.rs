//! A decision record names the tests that keep it true: each test it cites in "Confirmation" must exist.

use std::collections::HashSet;

use super::Finding;
use super::files::RepositoryFile;

/// Words that make a name a sentence: shorter names in backticks are not taken for tests.
const WORDS: usize = 4;

/// Checks `docs/adr/*.md`.
pub(crate) fn check(files: &[RepositoryFile]) -> Vec<Finding> {
    let tests: HashSet<&str> =
        files.iter().filter(|file| file.is("rs")).flat_map(|file| functions(&file.text)).collect();
    let records = files.iter().filter(|file| file.path.starts_with("docs/adr/") && file.is("md"));
    records.flat_map(|record| missing(record, &tests)).collect()
}

fn missing(record: &RepositoryFile, tests: &HashSet<&str>) -> Vec<Finding> {
    let cited = confirmation(&record.text).flat_map(|(number, line)| names(line).map(move |name| (number, name)));
    cited
        .filter(|(_, name)| !tests.contains(name))
        .map(|(number, name)| Finding::new(format!("{}:{number}", record.path), format!("no test is named `{name}`")))
        .collect()
}

/// The lines of the section "Confirmation", with their numbers.
fn confirmation(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.starts_with('#') {
            inside = line.trim_start_matches('#').trim().eq_ignore_ascii_case("confirmation");
        }
        inside.then_some((index + 1, line))
    })
}

/// Names of tests in backticks; a path before the name (`module::name`) is left out.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter_map(|text| text.rsplit("::").next()).filter(|name| is_sentence(name))
}

fn is_sentence(name: &str) -> bool {
    let letters = name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    letters && name.split('_').filter(|word| !word.is_empty()).count() >= WORDS
}

fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().trim_start_matches("pub ").trim_start_matches("async ").strip_prefix("fn ")?;
        rest.split(['(', '<']).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> RepositoryFile {
        RepositoryFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_cited_test_that_is_gone_is_found() {
        let record = "# 2\n`a_name_outside_the_section`\n## Confirmation\n`c1::a_replay_is_the_same` and `a_test_that_is_gone`, `payments_pkey`\n";
        let files = [
            file("docs/adr/0002-x.md", record),
            file("shared/tests/integration/c1.rs", "    async fn a_replay_is_the_same() {\n"),
        ];
        assert_eq!(check(&files), [Finding::new("docs/adr/0002-x.md:4", "no test is named `a_test_that_is_gone`")]);
    }
}
