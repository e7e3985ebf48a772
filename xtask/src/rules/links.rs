//! Every relative link in a Markdown file leads to a file, and its anchor to a heading. External links are left alone.

use std::collections::{HashMap, HashSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::Finding;
use super::files::RepositoryFile;

/// Follows all relative links of all Markdown files.
pub(crate) fn check(files: &[RepositoryFile]) -> Vec<Finding> {
    let mut known: HashSet<String> = files.iter().map(|file| file.path.clone()).collect();
    let folders: Vec<String> = files.iter().flat_map(|file| parents(&file.path)).collect();
    known.extend(folders);
    let pages: Vec<&RepositoryFile> = files.iter().filter(|file| file.is("md")).collect();
    let anchors: HashMap<&str, HashSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(&page.text))).collect();
    let mut findings = Vec::new();
    for page in pages {
        for (line, link) in links(&page.text) {
            if let Some(problem) = broken(&page.path, &link, &known, &anchors) {
                findings.push(Finding::new(format!("{}:{line}", page.path), format!("link `{link}`: {problem}")));
            }
        }
    }
    findings
}

fn broken(
    from: &str,
    link: &str,
    known: &HashSet<String>,
    anchors: &HashMap<&str, HashSet<String>>,
) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { from.to_owned() } else { resolve(from, path)? };
    if !target.is_empty() && !known.contains(&target) {
        return Some("no such file");
    }
    match (anchor, anchors.get(target.as_str())) {
        (Some(anchor), Some(headings)) if !headings.contains(anchor) => Some("no such heading"),
        _ => None,
    }
}

/// The target's path from the root; `None` where it leads out of the repository, to the forge's own pages.
fn resolve(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = if path.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn parents(path: &str) -> Vec<String> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end)).map(str::to_owned).collect()
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH
}

/// Link and image targets with their line.
fn links(text: &str) -> Vec<(usize, String)> {
    let events = Parser::new_ext(text, options()).into_offset_iter();
    events
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let line = text.get(..range.start).unwrap_or_default().matches('\n').count() + 1;
                Some((line, dest_url.into_string()))
            }
            _ => None,
        })
        .collect()
}

/// The anchors that GitHub gives the headings.
fn anchors(text: &str) -> HashSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut anchors = HashSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let count = seen.entry(slug.clone()).or_default();
                anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
                *count += 1;
            }
            _ => {}
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ => letter.is_alphanumeric().then_some(letter),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> RepositoryFile {
        RepositoryFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn broken_files_and_anchors_are_found_with_their_line() {
        let files = [
            file("README.md", "# A\n\n[x](docs/api.md#gone)\n[y](docs/none.md)\n"),
            file("docs/api.md", "# The `POST` call\n\n[back](../README.md#a)\n"),
        ];
        let findings = check(&files);
        assert_eq!(
            findings,
            [
                Finding::new("README.md:3", "link `docs/api.md#gone`: no such heading"),
                Finding::new("README.md:4", "link `docs/none.md`: no such file"),
            ]
        );
    }

    #[test]
    fn folders_web_addresses_and_code_are_no_broken_links() {
        let text =
            "[a](docs) [b](docs/) [c](https://example.com/x) [d](../../issues) `[e](none)`\n\n```\n[f](none)\n```\n";
        assert_eq!(check(&[file("README.md", text), file("docs/api.md", "")]), []);
    }

    #[test]
    fn anchors_are_made_the_way_github_makes_them() {
        let found = anchors("# One mechanism: `INSERT … ON CONFLICT`\n## Same\n## Same\n");
        let expected = ["one-mechanism-insert--on-conflict", "same", "same-1"];
        assert_eq!(found, expected.into_iter().map(str::to_owned).collect());
    }
}
