//! The paths that a Rust file names, read from its syntax tree: in `use`, in types, in calls. Macros' insides are not seen.

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// A path as the rules see it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A top-level module of this crate.
    Module(String),
    /// The first segment of any other path, which may be a crate.
    Crate(String),
}

/// `handlers/problem.rs` is the module `handlers::problem`.
pub(super) fn module_path(inside: &str) -> Vec<String> {
    let mut parts: Vec<String> = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// Every path outside tests, of a file whose own module is `module`.
///
/// # Errors
/// When the text is no Rust.
pub(super) fn named_paths(text: &str, module: &[String]) -> syn::Result<Vec<Named>> {
    let tree = syn::parse_file(text)?;
    let mut paths = Paths { module: module.to_vec(), found: Vec::new() };
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
        let named =
            if starts_in_crate { base.into_iter().next().or(next).map(Named::Module) } else { next.map(Named::Crate) };
        self.found.extend(named);
    }

    fn add_use(&mut self, tree: &UseTree, prefix: &[String]) {
        let with = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_use(&path.tree, &with(&path.ident)),
            UseTree::Name(name) => self.add(&with(&name.ident)),
            UseTree::Rename(name) => self.add(&with(&name.ident)),
            UseTree::Glob(_) => self.add(prefix),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.add_use(item, prefix)),
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
            let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add(&segments);
        }
        visit::visit_path(self, path);
    }
}

/// `#[cfg(test)]`
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}
