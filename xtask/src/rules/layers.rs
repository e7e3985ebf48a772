//! The edges between the layers of `shared/`: who may name whom.
//!
//! Comments and texts are free to speak of other layers, and tests are not judged.

use super::Finding;
use super::files::RepositoryFile;
use super::named_paths::{Named, module_path, named_paths};

const SOURCES: &str = "shared/src/";

/// What one layer must not name.
struct Layer {
    module: &'static str,
    /// The other modules of the crate that it may name.
    may_name: &'static [&'static str],
    /// Groups of crates that it must not use.
    must_not_use: &'static [&'static [&'static str]],
}

const POSTGRES: &[&str] =
    &["aws_config", "aws_sdk_rds", "deadpool", "native_tls", "postgres_native_tls", "refinery", "tokio_postgres"];
const LAMBDA: &[&str] = &["lambda_http", "lambda_runtime", "aws_lambda_events"];
const HTTP: &[&str] = &["http", "hyper", "reqwest", "serde_json"];

const LAYERS: [Layer; 6] = [
    Layer { module: "domain", may_name: &[], must_not_use: &[POSTGRES, LAMBDA, HTTP] },
    Layer { module: "ports", may_name: &["domain"], must_not_use: &[POSTGRES, LAMBDA, HTTP] },
    Layer { module: "use_cases", may_name: &["domain", "ports"], must_not_use: &[POSTGRES, LAMBDA, HTTP] },
    Layer { module: "auth", may_name: &["domain"], must_not_use: &[POSTGRES, LAMBDA] },
    Layer {
        module: "handlers",
        may_name: &["auth", "domain", "ports", "telemetry", "use_cases"],
        must_not_use: &[POSTGRES, LAMBDA],
    },
    Layer { module: "repositories", may_name: &["config", "domain", "ports"], must_not_use: &[LAMBDA, HTTP] },
];

/// Judges every file of a layer.
pub(crate) fn check(files: &[RepositoryFile]) -> Vec<Finding> {
    files.iter().filter(|file| file.is("rs")).flat_map(judge).collect()
}

fn judge(file: &RepositoryFile) -> Vec<Finding> {
    let Some(inside) = file.path.strip_prefix(SOURCES) else {
        return Vec::new();
    };
    let module = module_path(inside);
    let Some(layer) = LAYERS.iter().find(|layer| module.first().is_some_and(|first| first == layer.module)) else {
        return Vec::new();
    };
    let named = match named_paths(&file.text, &module) {
        Ok(named) => named,
        Err(error) => {
            return vec![Finding::new(&file.path, format!("cannot be parsed: {error}"))];
        }
    };
    let mut breaches: Vec<String> = named.iter().filter_map(|path| breach(layer, path)).collect();
    breaches.sort();
    breaches.dedup();
    breaches.into_iter().map(|message| Finding::new(&file.path, message)).collect()
}

fn breach(layer: &Layer, path: &Named) -> Option<String> {
    let own = layer.module;
    match path {
        Named::Module(other) if other != own && !layer.may_name.contains(&other.as_str()) => {
            Some(format!("`{own}` must not name `{other}`"))
        }
        Named::Crate(name) if layer.must_not_use.iter().any(|group| group.contains(&name.as_str())) => {
            Some(format!("`{own}` must not use the crate `{name}`"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let file = RepositoryFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).into_iter().map(|finding| finding.message).collect()
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
        assert_eq!(messages("shared/src/ports/ledger.rs", text), Vec::<String>::new());
    }

    #[test]
    fn a_repository_may_not_know_a_handler() {
        assert_eq!(
            messages("shared/src/repositories/pool.rs", "use crate::handlers::Problem;"),
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
