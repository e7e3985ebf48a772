//! The edges between the layers of `shared/`: who may name whom.
//!
//! Reads paths from the syntax tree, so comments and texts are free to speak of other layers. Tests are not judged.

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::Finding;
use super::files::RepositoryFile;

const SOURCES: &str = "shared/src/";

/// What one layer must not name.
struct Layer {
    module: &'static str,
    /// Other modules of the crate; `None` allows those not listed as forbidden.
    may_name: Option<&'static [&'static str]>,
    must_not_name: &'static [&'static str],
    must_not_use_crates: &'static [&'static str],
}

const POSTGRES: [&str; 3] = ["tokio_postgres", "deadpool_postgres", "refinery"];
const LAMBDA: [&str; 3] = ["lambda_http", "lambda_runtime", "aws_lambda_events"];

const OUTSIDE_WORLD: &[&str] = &[
    POSTGRES[0],
    POSTGRES[1],
    POSTGRES[2],
    LAMBDA[0],
    LAMBDA[1],
    LAMBDA[2],
    "http",
    "serde_json",
    "reqwest",
    "hyper",
];

const LAYERS: [Layer; 6] = [
    Layer {
        module: "domain",
        may_name: Some(&[]),
        must_not_name: &[],
        must_not_use_crates: OUTSIDE_WORLD,
    },
    Layer {
        module: "ports",
        may_name: Some(&["domain"]),
        must_not_name: &[],
        must_not_use_crates: OUTSIDE_WORLD,
    },
    Layer {
        module: "use_cases",
        may_name: Some(&["domain", "ports"]),
        must_not_name: &[],
        must_not_use_crates: OUTSIDE_WORLD,
    },
    Layer {
        module: "auth",
        may_name: Some(&["domain"]),
        must_not_name: &[],
        must_not_use_crates: &[
            POSTGRES[0],
            POSTGRES[1],
            POSTGRES[2],
            LAMBDA[0],
            LAMBDA[1],
            LAMBDA[2],
        ],
    },
    Layer {
        module: "handlers",
        may_name: None,
        must_not_name: &["repositories", "hosts"],
        must_not_use_crates: &[
            POSTGRES[0],
            POSTGRES[1],
            POSTGRES[2],
            LAMBDA[0],
            LAMBDA[1],
            LAMBDA[2],
        ],
    },
    Layer {
        module: "repositories",
        may_name: None,
        must_not_name: &["handlers", "use_cases", "hosts", "auth"],
        must_not_use_crates: &[LAMBDA[0], LAMBDA[1], LAMBDA[2], "http"],
    },
];

/// Judges every file of a layer.
pub(crate) fn check(files: &[RepositoryFile]) -> Vec<Finding> {
    files
        .iter()
        .filter(|file| file.is("rs"))
        .flat_map(judge)
        .collect()
}

fn judge(file: &RepositoryFile) -> Vec<Finding> {
    let Some(inside) = file.path.strip_prefix(SOURCES) else {
        return Vec::new();
    };
    let module = module_path(inside);
    let Some(layer) = LAYERS
        .iter()
        .find(|layer| module.first().is_some_and(|first| first == layer.module))
    else {
        return Vec::new();
    };
    let named = match named_paths(&file.text, &module) {
        Ok(named) => named,
        Err(error) => {
            return vec![Finding::new(
                &file.path,
                format!("cannot be parsed: {error}"),
            )];
        }
    };
    let mut breaches: Vec<String> = named
        .iter()
        .filter_map(|path| breach(layer, path))
        .collect();
    breaches.sort();
    breaches.dedup();
    breaches
        .into_iter()
        .map(|message| Finding::new(&file.path, message))
        .collect()
}

fn breach(layer: &Layer, path: &Named) -> Option<String> {
    let own = layer.module;
    match path {
        Named::Module(other) if other != own => {
            let allowed = layer
                .may_name
                .is_none_or(|allowed| allowed.contains(&other.as_str()));
            let forbidden = !allowed || layer.must_not_name.contains(&other.as_str());
            forbidden.then(|| format!("`{own}` must not name `{other}`"))
        }
        Named::Crate(name) if layer.must_not_use_crates.contains(&name.as_str()) => {
            Some(format!("`{own}` must not use the crate `{name}`"))
        }
        _ => None,
    }
}

/// A path as the rules see it.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    /// A top-level module of this crate.
    Module(String),
    /// The first segment of any other path, which may be a crate.
    Crate(String),
}

/// `handlers/problem.rs` is the module `handlers::problem`.
fn module_path(inside: &str) -> Vec<String> {
    let mut parts: Vec<String> = inside
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if parts
        .last()
        .is_some_and(|last| last == "mod" || last == "lib")
    {
        parts.pop();
    }
    parts
}

fn named_paths(text: &str, module: &[String]) -> syn::Result<Vec<Named>> {
    let tree = syn::parse_file(text)?;
    let mut paths = Paths {
        module: module.to_vec(),
        found: Vec::new(),
    };
    paths.visit_file(&tree);
    Ok(paths.found)
}

struct Paths {
    module: Vec<String>,
    found: Vec<Named>,
}

impl Paths {
    fn add(&mut self, segments: &[String]) {
        let mut base = self.module.clone();
        let mut rest = segments.iter().map(String::as_str).peekable();
        let starts_in_crate = match rest.peek() {
            Some(&"crate") => {
                base.clear();
                rest.next();
                true
            }
            Some(&"self") => {
                rest.next();
                true
            }
            Some(&"super") => true,
            _ => false,
        };
        while rest.next_if_eq(&"super").is_some() {
            base.pop();
        }
        let next = rest.next().map(str::to_owned);
        let named = if starts_in_crate {
            base.into_iter().next().or(next).map(Named::Module)
        } else {
            next.map(Named::Crate)
        };
        self.found.extend(named);
    }

    fn add_use(&mut self, tree: &UseTree, prefix: &[String]) {
        let with = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_use(&path.tree, &with(&path.ident)),
            UseTree::Name(name) => self.add(&with(&name.ident)),
            UseTree::Rename(name) => self.add(&with(&name.ident)),
            UseTree::Glob(_) => self.add(prefix),
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|item| self.add_use(item, prefix)),
        }
    }
}

impl Visit<'_> for Paths {
    fn visit_item(&mut self, item: &Item) {
        if let Item::Mod(module) = item {
            if is_test(&module.attrs) {
                return;
            }
            self.module.push(module.ident.to_string());
            visit::visit_item(self, item);
            self.module.pop();
            return;
        }
        visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        self.add_use(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &syn::Path) {
        // A single segment is a local name, never another module's.
        if path.segments.len() > 1 {
            let segments: Vec<String> = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect();
            self.add(&segments);
        }
        visit::visit_path(self, path);
    }
}

/// `#[cfg(test)]`
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|condition| condition.is_ident("test"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let file = RepositoryFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&[file])
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    #[test]
    fn the_domain_may_name_nothing_outside_itself() {
        let text = "//! x\nuse crate::{domain::Key, repositories::Pool};\nuse http::StatusCode;\n\
            fn f() -> super::super::ports::X { tokio_postgres::connect(); self::g() }";
        assert_eq!(
            messages("shared/src/domain/money.rs", text),
            [
                "`domain` must not name `ports`",
                "`domain` must not name `repositories`",
                "`domain` must not use the crate `http`",
                "`domain` must not use the crate `tokio_postgres`",
            ]
        );
    }

    #[test]
    fn comments_texts_tests_and_allowed_edges_are_free() {
        let text = "//! crate::repositories\nuse crate::domain::Key;\nuse super::Ports;\nconst X: &str = \"http::x\";\n\
            #[cfg(test)]\nmod tests { use crate::repositories::Pool; }";
        assert_eq!(
            messages("shared/src/ports/ledger.rs", text),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_repository_may_not_know_a_handler() {
        assert_eq!(
            messages(
                "shared/src/repositories/pool.rs",
                "use crate::handlers::Problem;"
            ),
            ["`repositories` must not name `handlers`"]
        );
    }

    #[test]
    fn a_reexport_by_glob_counts_as_naming_its_module() {
        assert_eq!(
            messages("shared/src/domain/mod.rs", "pub use crate::ports::*;"),
            ["`domain` must not name `ports`"]
        );
    }
}
