//! Acting as somebody else (apiserver `endpoints/filters/impersonation`).
//!
//! Each mode asks whether the requestor may do what it asks for while acting as somebody of that sort, and
//! whether it may act as them; the last one is the old way, with the verb `impersonate` alone. The first
//! refusal is what the client sees.

mod headers;

use super::{Attributes, Decision, MASTERS};
use crate::mutants::mutant;
use crate::request::User;
use crate::status::Refusal;
pub use headers::wanted;

const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";
/// With this many checks in a row, one for all of them is tried first.
const MANY: usize = 4;

/// The user that a request is made as, if its own user (in `asked`) may act as `wanted`.
///
/// # Errors
/// 403 if not.
pub fn act(
    asked: &Attributes,
    wanted: &User,
    decide: impl Fn(&Attributes) -> Decision,
) -> Result<User, Refusal> {
    let allow = |attributes: &Attributes| {
        let decision = decide(attributes);
        if decision.allowed {
            Ok(())
        } else {
            Err(attributes.forbidden(&decision.reason))
        }
    };
    let mut first = None;
    for mode in Mode::all().into_iter().filter(|mode| mode.applies(wanted)) {
        match mode.act(asked, wanted, &allow) {
            Ok(user) => return Ok(user),
            Err(refusal) => first = first.or(Some(refusal)),
        }
    }
    Err(first.unwrap_or_else(|| Refusal::internal("all impersonation modes failed")))
}

/// A sort of users that one can act as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Node,
    ServiceAccount,
    Info,
    /// Anybody, as before there were modes.
    Legacy,
}

type Allow<'a> = dyn Fn(&Attributes) -> Result<(), Refusal> + 'a;

impl Mode {
    fn all() -> [Self; 4] {
        [Self::Node, Self::ServiceAccount, Self::Info, Self::Legacy]
    }

    fn word(self) -> &'static str {
        match self {
            Self::Node => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::Info => "user-info",
            Self::Legacy => "",
        }
    }

    fn applies(self, wanted: &User) -> bool {
        let only_name =
            wanted.groups.is_empty() && wanted.uid.is_empty() && wanted.extra.is_empty();
        let (node, account) = (node(&wanted.name), account(&wanted.name));
        match self {
            Self::Node => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::Info => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    fn act(self, asked: &Attributes, wanted: &User, allow: &Allow<'_>) -> Result<User, Refusal> {
        if self != Self::Legacy {
            let verb = format!("impersonate-on:{}:{}", self.word(), asked.verb);
            allow(&Attributes {
                verb,
                ..asked.clone()
            })?;
        }
        let mut user = wanted.clone();
        mutant!(
            ImpersonatorsKeepTheirGroups,
            user.groups.extend(asked.user.groups.clone())
        );
        self.allow_name(asked, &mut user, allow)?;
        if !wanted.uid.is_empty() {
            allow(
                &self
                    .part(asked, "authentication.k8s.io", "uids")
                    .named(&wanted.uid),
            )?;
        }
        self.allow_groups(asked, wanted, allow)?;
        self.allow_extra(asked, wanted, allow)?;
        let mut add = |group: &str| {
            if !user.groups.iter().any(|held| held == group) {
                user.groups.push(group.to_owned());
            }
        };
        if wanted.name == ANONYMOUS {
            add(UNAUTHENTICATED);
        } else if !wanted.groups.iter().any(|group| group == UNAUTHENTICATED) {
            add(AUTHENTICATED);
        }
        Ok(user)
    }

    /// Acting as something of a user.
    fn part(self, asked: &Attributes, group: &str, plural: &str) -> Attributes {
        let verb = match self {
            Self::Legacy => "impersonate".to_owned(),
            mode => format!("impersonate:{}", mode.word()),
        };
        Attributes::resource(asked.user.clone(), &verb, group, plural)
    }

    /// The group of users, groups and so on.
    fn group(self) -> &'static str {
        if self == Self::Legacy {
            ""
        } else {
            "authentication.k8s.io"
        }
    }

    fn allow_name(
        self,
        asked: &Attributes,
        user: &mut User,
        allow: &Allow<'_>,
    ) -> Result<(), Refusal> {
        let part = |plural: &str| self.part(asked, self.group(), plural);
        if self == Self::Node
            && let Some(name) = node(&user.name)
        {
            let attributes = part("nodes").named(name);
            user.groups = vec!["system:nodes".to_owned()];
            return allow(&attributes);
        }
        if let Some((namespace, name)) = account(&user.name) {
            let attributes = part("serviceaccounts").in_namespace(namespace).named(name);
            if user.groups.is_empty() {
                let own = format!("system:serviceaccounts:{namespace}");
                user.groups = vec!["system:serviceaccounts".to_owned(), own];
            }
            return allow(&attributes);
        }
        allow(&part("users").named(&user.name))
    }

    fn allow_groups(
        self,
        asked: &Attributes,
        wanted: &User,
        allow: &Allow<'_>,
    ) -> Result<(), Refusal> {
        let part = self.part(asked, self.group(), "groups");
        let has = |group: &str| wanted.groups.iter().any(|held| held == group);
        if self != Self::Legacy {
            if has("") {
                return Err(part.forbidden("impersonating the empty string group is not allowed"));
            }
            if has(MASTERS) {
                let why = "impersonating the system:masters group is not allowed";
                return Err(part.named(MASTERS).forbidden(why));
            }
            if wanted.groups.len() >= MANY && allow(&part.clone().named("*")).is_ok() {
                return Ok(());
            }
        }
        wanted
            .groups
            .iter()
            .try_for_each(|group| allow(&part.clone().named(group)))
    }

    fn allow_extra(
        self,
        asked: &Attributes,
        wanted: &User,
        allow: &Allow<'_>,
    ) -> Result<(), Refusal> {
        let part = self.part(asked, "authentication.k8s.io", "userextras");
        if self != Self::Legacy {
            if let Some(why) = wanted
                .extra
                .iter()
                .find_map(|(key, values)| bad_extra(key, values))
            {
                return Err(part.forbidden(&why));
            }
            let count: usize = wanted.extra.values().map(Vec::len).sum();
            let all = part.clone().of_subresource("*").named("*");
            if count >= MANY && allow(&all).is_ok() {
                return Ok(());
            }
        }
        for (key, values) in &wanted.extra {
            for value in values {
                allow(&part.clone().of_subresource(key).named(value))?;
            }
        }
        Ok(())
    }
}

/// What is wrong with something extra, where the old way did not look.
fn bad_extra(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let (domain, path) = key.split_once('/').unwrap_or_default();
    if path.is_empty() || !crate::names::subdomain(domain).is_empty() {
        return Some(format!(
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {key:?}: must be \
             a domain-prefixed path (such as \"acme.io/foo\")"
        ));
    }
    let empty = values.iter().any(String::is_empty);
    empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

/// The node whose user this is.
fn node(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    crate::names::subdomain(name).is_empty().then_some(name)
}

/// The namespace and name of the service account whose user this is.
fn account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?;
    let fits =
        crate::names::label(namespace).is_empty() && crate::names::subdomain(name).is_empty();
    fits.then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::headers::tests::headers;
    use super::*;

    fn asked() -> Attributes {
        let user = User {
            name: "ann".to_owned(),
            ..User::default()
        };
        Attributes::resource(user, "list", "", "pods").in_namespace("a")
    }

    /// Acts as the user in the headers; `allowed` are verbs, or verbs and plurals.
    fn acts(lines: &[&str], allowed: &[&str]) -> Result<(String, Vec<String>), String> {
        let wanted = wanted(&headers(lines)).unwrap().unwrap();
        let user = act(&asked(), &wanted, |attributes| {
            let plural = match &attributes.asked {
                super::super::Asked::Resource(objects) => objects.plural.clone(),
                super::super::Asked::Path(path) => path.clone(),
            };
            let both = format!("{} {plural}", attributes.verb);
            Decision {
                allowed: allowed
                    .iter()
                    .any(|held| *held == both || *held == attributes.verb),
                reason: String::new(),
            }
        });
        user.map(|user| (user.name, user.groups))
            .map_err(|refusal| refusal.message)
    }

    #[test]
    fn one_acts_as_others_with_the_right_to() {
        let groups = |groups: &[&str]| {
            groups
                .iter()
                .map(|group| (*group).to_owned())
                .collect::<Vec<_>>()
        };
        let as_bob = |groups: Vec<String>| Ok(("bob".to_owned(), groups));
        assert_eq!(
            acts(&["user: bob"], &["impersonate users"]),
            as_bob(groups(&["system:authenticated"]))
        );
        assert_eq!(
            acts(&["user: bob", "group: g"], &["impersonate"]),
            as_bob(groups(&["g", "system:authenticated"]))
        );
        let constrained = [
            "impersonate:user-info users",
            "impersonate-on:user-info:list pods",
        ];
        assert_eq!(
            acts(&["user: bob"], &constrained),
            as_bob(groups(&["system:authenticated"]))
        );
        assert_eq!(
            acts(
                &["user: system:serviceaccount:a:b"],
                &["impersonate serviceaccounts"]
            )
            .unwrap()
            .1,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:a",
                "system:authenticated"
            ]
        );
        assert_eq!(
            acts(&["user: system:anonymous"], &["impersonate users"])
                .unwrap()
                .1,
            ["system:unauthenticated"]
        );
        let masters = ["user: bob", "group: system:masters"];
        assert!(acts(&masters, &["impersonate users", "impersonate:user-info"]).is_err());
        assert!(acts(&masters, &["impersonate"]).is_ok());
    }

    #[test]
    fn refusals_are_of_the_first_mode() {
        let refused = |user: &str, verb: &str| {
            let want = format!(
                "pods is forbidden: User \"ann\" cannot {verb} resource \"pods\" in API group \"\" in the \
                 namespace \"a\""
            );
            assert_eq!(acts(&[&format!("user: {user}")], &[]).unwrap_err(), want);
        };
        refused("bob", "impersonate-on:user-info:list");
        refused(
            "system:serviceaccount:a:b",
            "impersonate-on:serviceaccount:list",
        );
        refused("system:node:n", "impersonate-on:arbitrary-node:list");
        let second = acts(&["user: bob"], &["impersonate-on:user-info:list"]).unwrap_err();
        assert_eq!(
            second,
            "users.authentication.k8s.io \"bob\" is forbidden: User \"ann\" cannot impersonate:user-info \
             resource \"users\" in API group \"authentication.k8s.io\" at the cluster scope"
        );
    }
}
