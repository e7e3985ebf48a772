//! SQL of the deployed code lies in `.sql` files: no statement hides in a Rust text of `shared/src`.

use syn::LitStr;
use syn::visit::Visit;

use super::Finding;
use super::files::RepositoryFile;

/// A text that starts with one of these, followed somewhere by its partner, is a statement.
const STATEMENTS: [(&str, &[&str]); 8] = [
    ("select", &[" from ", "(", " $"]),
    ("insert", &[" into "]),
    ("update", &[" set "]),
    ("delete", &[" from "]),
    ("with", &[" as ("]),
    ("create", &[" table ", " index ", " role "]),
    ("alter", &[" table ", " role "]),
    ("grant", &[" on "]),
];

/// Looks at every text outside tests.
pub(crate) fn check(files: &[RepositoryFile]) -> Vec<Finding> {
    let sources = files.iter().filter(|file| file.path.starts_with("shared/src/") && file.is("rs"));
    sources.flat_map(|file| statements(&file.text).into_iter().map(|found| finding(file, &found))).collect()
}

fn finding(file: &RepositoryFile, statement: &str) -> Finding {
    let start: String = statement.chars().take(40).collect();
    Finding::new(&file.path, format!("SQL in Rust (`{start}`): move it to repositories/sql/"))
}

fn statements(text: &str) -> Vec<String> {
    // What does not parse is reported by the layers' rule.
    let Ok(tree) = syn::parse_file(text) else {
        return Vec::new();
    };
    let mut texts = Texts(Vec::new());
    texts.visit_file(&tree);
    texts.0.into_iter().filter(|text| is_statement(text)).collect()
}

fn is_statement(text: &str) -> bool {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    STATEMENTS.iter().any(|(verb, partners)| {
        let rest = folded.strip_prefix(verb).filter(|rest| rest.starts_with(' '));
        rest.is_some_and(|rest| partners.iter().any(|partner| rest.contains(partner)))
    })
}

struct Texts(Vec<String>);

impl Visit<'_> for Texts {
    fn visit_lit_str(&mut self, text: &LitStr) {
        self.0.push(text.value());
    }

    // Documentation is an attribute with a text.
    fn visit_attribute(&mut self, _: &syn::Attribute) {}

    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        if module.ident != "tests" {
            syn::visit::visit_item_mod(self, module);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_in_rust_is_found_and_prose_is_not() {
        assert!(is_statement("SELECT pg_advisory_lock($1)"));
        assert!(is_statement("  update accounts\n set balance = 1"));
        assert!(is_statement("DELETE FROM payments"));
        assert!(!is_statement("select a payment"));
        assert!(!is_statement("the database cannot be reached"));
        assert!(!is_statement("with another request"));
    }

    #[test]
    fn documentation_and_tests_may_show_sql() {
        let text = "/// SELECT x FROM y\nfn f() { g(\"DELETE FROM payments\") }\n\
            #[cfg(test)]\nmod tests { const X: &str = \"DELETE FROM accounts\"; }";
        assert_eq!(statements(text), ["DELETE FROM payments"]);
    }
}
