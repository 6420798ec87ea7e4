//! Whom the headers of a request want to act as.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use crate::request::User;
use crate::status::Refusal;

const EXTRA: &str = "impersonate-extra-";

/// Whom the headers want to act as; nobody if they do not say.
///
/// # Errors
/// 400 if they say things about a user, and not which.
pub fn wanted(headers: &HeaderMap) -> Result<Option<User>, Refusal> {
    let all = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter();
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    let first = |name: &str| all(name).into_iter().next().unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            extra.entry(key).or_default().extend(all(name.as_str()));
        }
    }
    let user = User {
        name: first("impersonate-user"),
        groups: all("impersonate-group"),
        uid: first("impersonate-uid"),
        extra,
    };
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user == User::default() {
        return Ok(None);
    }
    let message = format!(
        "requested {} without impersonating a user name",
        in_go(&user)
    );
    Err(Refusal::bad_request(message))
}

/// A user as Go's `%#v` shows it.
fn in_go(user: &User) -> String {
    let list = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
        format!("{{{}}}", texts.join(", "))
    };
    let groups = if user.groups.is_empty() {
        "(nil)".to_owned()
    } else {
        list(&user.groups)
    };
    let extra = if user.extra.is_empty() {
        "(nil)".to_owned()
    } else {
        let each: Vec<String> = user
            .extra
            .iter()
            .map(|(key, values)| format!("{key:?}:[]string{}", list(values)))
            .collect();
        format!("{{{}}}", each.join(", "))
    };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:[]string{groups}, Extra:map[string][]string{extra}}}",
        user.name, user.uid
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::rbac::impersonation) fn headers(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name: http::HeaderName = format!("impersonate-{name}").parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn headers_say_whom_to_act_as() {
        assert_eq!(wanted(&headers(&[])), Ok(None));
        let all = wanted(&headers(&[
            "user: bob",
            "group: g",
            "group: h",
            "uid: u",
            "extra-acme.com%2Fx: y",
        ]));
        let user = all.unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("bob", "u"));
        assert_eq!(user.groups, ["g", "h"]);
        assert_eq!(user.extra["acme.com/x"], ["y"]);
        let refused = wanted(&headers(&["group: g"])).unwrap_err();
        assert_eq!(
            refused.message,
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, \
             Extra:map[string][]string(nil)} without impersonating a user name"
        );
    }
}
