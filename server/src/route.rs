//! The table of routes: the same as `[workspace.metadata.lambda.watch.router]` and the deployed API's.

use http::Method;

const PAYMENTS: &str = "/api/v1/payments";

/// Where a request leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `POST /api/v1/payments`
    CreatePayment,
    /// `GET /api/v1/payments?idempotency_key=K`
    FindPayment,
    /// `GET /api/v1/payments/{payment_id}`
    GetPayment,
    /// The path is known, with these methods.
    OtherMethod(&'static str),
    /// No route has this path.
    Nowhere,
}

impl Route {
    /// The route of a method and a path.
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        if path == PAYMENTS {
            return match *method {
                Method::POST => Self::CreatePayment,
                Method::GET => Self::FindPayment,
                _ => Self::OtherMethod("GET, POST"),
            };
        }
        let id = path.strip_prefix(PAYMENTS).and_then(|rest| rest.strip_prefix('/'));
        match id {
            Some(id) if !id.is_empty() && !id.contains('/') => match *method {
                Method::GET => Self::GetPayment,
                _ => Self::OtherMethod("GET"),
            },
            _ => Self::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path, function and method of each entry in the functions' table.
    fn functions_table() -> Vec<(String, String, String)> {
        let manifest = include_str!("../../Cargo.toml");
        let mut table = Vec::new();
        let mut path = "";
        for line in manifest.lines().skip_while(|line| !line.ends_with("watch.router]")) {
            let quoted: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
            if line.starts_with('"') {
                path = quoted.first().copied().unwrap_or_default();
            }
            let names = quoted.iter().skip(usize::from(line.starts_with('"')));
            if let [function, method] = names.collect::<Vec<_>>()[..] {
                table.push((path.to_owned(), (*function).to_owned(), (*method).to_owned()));
            }
        }
        table
    }

    #[test]
    fn the_routes_are_those_of_the_functions() {
        let table = functions_table();
        assert_eq!(table.len(), 3, "{table:?}");
        for (path, function, method) in table {
            let path = path.replace("{payment_id}", "11111111-2222-3333-4444-555555555555");
            let expected = match function.as_str() {
                "create_payment" => Route::CreatePayment,
                "find_payment" => Route::FindPayment,
                "get_payment" => Route::GetPayment,
                _ => Route::Nowhere,
            };
            assert_ne!(expected, Route::Nowhere, "{function}");
            assert_eq!(
                Method::from_bytes(method.as_bytes()).map(|method| Route::of(&method, &path)).ok(),
                Some(expected)
            );
        }
    }

    #[test]
    fn what_is_no_route_leads_nowhere_or_to_the_methods_that_are_allowed() {
        for path in ["/", "/api/v1/payments/", "/api/v1/payments/x/y", "/api/v1/paymentsx", "/API/v1/payments", ""] {
            assert_eq!(Route::of(&Method::GET, path), Route::Nowhere, "{path}");
        }
        assert_eq!(Route::of(&Method::DELETE, "/api/v1/payments"), Route::OtherMethod("GET, POST"));
        assert_eq!(Route::of(&Method::POST, "/api/v1/payments/x"), Route::OtherMethod("GET"));
    }
}
