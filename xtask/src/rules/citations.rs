//! Documents name the tests that keep them true, and each test that they name must exist: decision records in their
//! "Confirmation", documents that teach anywhere.

use std::collections::HashSet;

use super::Finding;
use super::files::RepositoryFile;

/// Words that make a name a sentence: shorter names in backticks are not taken for tests.
const WORDS: usize = 4;

/// Documents that teach, by how their paths begin: a name in them that leads nowhere leads a reader astray.
const TEACHING: [&str; 6] =
    ["docs/archetypes/", "docs/checklist", "docs/course", "docs/model", "docs/threat-model", "docs/trade-offs"];

/// Checks `docs/adr/*.md` and the documents that teach.
pub(crate) fn check(files: &[RepositoryFile]) -> Vec<Finding> {
    let tests: HashSet<&str> =
        files.iter().filter(|file| file.is("rs") || file.is("py")).flat_map(|file| functions(&file.text)).collect();
    files.iter().filter(|file| file.is("md")).flat_map(|document| missing(document, &tests)).collect()
}

fn missing(document: &RepositoryFile, tests: &HashSet<&str>) -> Vec<Finding> {
    let cited =
        citing_lines(document).into_iter().flat_map(|(number, line)| names(line).map(move |name| (number, name)));
    cited
        .filter(|(_, name)| !tests.contains(name))
        .map(|(number, name)| Finding::new(format!("{}:{number}", document.path), format!("no test is named `{name}`")))
        .collect()
}

/// The lines in which names of tests are citations, with their numbers.
fn citing_lines(document: &RepositoryFile) -> Vec<(usize, &str)> {
    if TEACHING.iter().any(|start| document.path.starts_with(start)) {
        return document.text.lines().enumerate().map(|(index, line)| (index + 1, line)).collect();
    }
    if document.path.starts_with("docs/adr/") {
        return confirmation(&document.text).collect();
    }
    Vec::new()
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

/// Names of tests in backticks, alone or in a command; a path before the name (`module::name`) is left out.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
    quoted.filter_map(|text| text.rsplit("::").next()).filter(|name| is_sentence(name))
}

fn is_sentence(name: &str) -> bool {
    let letters = name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    letters && name.split('_').filter(|word| !word.is_empty()).count() >= WORDS
}

fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().trim_start_matches("pub ").trim_start_matches("async ");
        let rest = rest.strip_prefix("fn ").or_else(|| rest.strip_prefix("def "))?;
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

    #[test]
    fn documents_that_teach_are_checked_in_every_line_and_in_commands() {
        let text = "| 1 | `a_replay_is_the_same`, `test_no_route_is_public` |\n| 2 | `cargo test -p x a_test_that_is_gone` |\n";
        let files = [
            file("docs/checklist.md", text),
            file("docs/course.ru.md", text),
            file("docs/operations.md", text),
            file("labs/archetypes/tests/archetypes/feed.rs", "async fn a_replay_is_the_same() {\n"),
            file("xtask/template/test_routes.py", "def test_no_route_is_public(mode):\n"),
        ];
        let expected = ["docs/checklist.md:2", "docs/course.ru.md:2"]
            .map(|place| Finding::new(place, "no test is named `a_test_that_is_gone`"));
        assert_eq!(check(&files), expected);
    }
}
