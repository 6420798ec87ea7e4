//! `authorizer`: what expressions can ask about the rights of the user of the request
//! (apiserver `pkg/cel/library/authz.go`).

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::Opaque;
use kube_cel::cel::{Context, ExecutionError, Value as Cel};

use crate::names;
use crate::rbac::attributes::Objects;
use crate::rbac::{Asked, Attributes, Authorizer, Decision};
use crate::request::User;
use crate::store::Store;

/// The name of what asks about the object of the request.
pub(crate) const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// A question that is being put together.
#[derive(Clone)]
struct Question {
    authorizer: Arc<Authorizer>,
    store: Store,
    user: User,
    about: About,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum About {
    Nothing,
    Group(String),
    Asked(Asked),
}

/// Without the store, which may be large.
impl Debug for Question {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Question")
            .field("user", &self.user)
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        self.user == other.user && self.about == other.about
    }
}

impl Eq for Question {}

impl Opaque for Question {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Authorizer"
    }
}

/// What was decided.
#[derive(Debug, PartialEq, Eq)]
struct Decided(Decision);

impl Opaque for Decided {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Decision"
    }
}

type FunctionResult = Result<Cel, ExecutionError>;

/// The values of `authorizer` and `authorizer.requestResource` for a request of a user about some objects.
pub(crate) fn values(
    authorizer: &Arc<Authorizer>,
    store: &Store,
    user: &User,
    objects: Objects,
) -> [(&'static str, Cel); 2] {
    let question = |about| {
        let question = Question {
            authorizer: Arc::clone(authorizer),
            store: store.clone(),
            user: user.clone(),
            about,
        };
        Cel::Opaque(Arc::new(question))
    };
    [
        ("authorizer", question(About::Nothing)),
        (
            REQUEST_RESOURCE,
            question(About::Asked(Asked::Resource(objects))),
        ),
    ]
}

/// Adds the functions.
pub(crate) fn register(context: &mut Context<'static>) {
    context.add_function("path", path);
    context.add_function("group", group);
    context.add_function("resource", resource);
    context.add_function("subresource", subresource);
    context.add_function("namespace", namespace);
    context.add_function("name", name);
    context.add_function("fieldSelector", selector);
    context.add_function("labelSelector", selector);
    context.add_function("serviceAccount", service_account);
    context.add_function("check", check);
    context.add_function("allowed", allowed);
    context.add_function("reason", reason);
    context.add_function("errored", errored);
    context.add_function("error", error);
}

fn question(this: &Cel) -> Result<Question, ExecutionError> {
    match this {
        Cel::Opaque(held) => held.downcast_ref::<Question>().cloned(),
        _ => None,
    }
    .ok_or(ExecutionError::NoSuchOverload)
}

fn about(this: &Cel, about: About) -> FunctionResult {
    let question = question(this)?;
    Ok(Cel::Opaque(Arc::new(Question { about, ..question })))
}

/// The same question about something more.
fn with(this: &Cel, change: impl FnOnce(&mut Objects)) -> FunctionResult {
    let mut question = question(this)?;
    match &mut question.about {
        About::Asked(Asked::Resource(objects)) => change(objects),
        _ => return Err(ExecutionError::NoSuchOverload),
    }
    Ok(Cel::Opaque(Arc::new(question)))
}

/// What an error says is all that is shown of it.
fn refused(why: &str) -> ExecutionError {
    ExecutionError::function_error("authorizer", why)
}

fn path(This(this): This<Cel>, path: Arc<String>) -> FunctionResult {
    if path.trim().is_empty() {
        return Err(refused("path must not be empty"));
    }
    about(&this, About::Asked(Asked::Path(Arc::unwrap_or_clone(path))))
}

fn group(This(this): This<Cel>, group: Arc<String>) -> FunctionResult {
    about(&this, About::Group(Arc::unwrap_or_clone(group)))
}

fn resource(This(this): This<Cel>, plural: Arc<String>) -> FunctionResult {
    let About::Group(group) = question(&this)?.about else {
        return Err(ExecutionError::NoSuchOverload);
    };
    if plural.trim().is_empty() {
        return Err(refused("resource must not be empty"));
    }
    let objects = Objects {
        group,
        plural: Arc::unwrap_or_clone(plural),
        ..Objects::default()
    };
    about(&this, About::Asked(Asked::Resource(objects)))
}

fn subresource(This(this): This<Cel>, name: Arc<String>) -> FunctionResult {
    with(&this, |objects| {
        objects.subresource = Arc::unwrap_or_clone(name)
    })
}

fn namespace(This(this): This<Cel>, name: Arc<String>) -> FunctionResult {
    with(&this, |objects| {
        objects.namespace = Arc::unwrap_or_clone(name)
    })
}

fn name(This(this): This<Cel>, name: Arc<String>) -> FunctionResult {
    with(&this, |objects| objects.name = Arc::unwrap_or_clone(name))
}

/// RBAC does not look at selectors.
fn selector(This(this): This<Cel>, _selector: Arc<String>) -> FunctionResult {
    with(&this, |_| {})
}

fn service_account(
    This(this): This<Cel>,
    namespace: Arc<String>,
    name: Arc<String>,
) -> FunctionResult {
    let question = question(&this)?;
    if !names::subdomain(&name).is_empty() {
        return Err(refused("Invalid service account name"));
    }
    if !names::label(&namespace).is_empty() {
        return Err(refused("Invalid service account namespace"));
    }
    let (namespace, name) = (Arc::unwrap_or_clone(namespace), Arc::unwrap_or_clone(name));
    let user = User::service_account(&namespace, &name);
    Ok(Cel::Opaque(Arc::new(Question { user, ..question })))
}

fn check(This(this): This<Cel>, verb: Arc<String>) -> FunctionResult {
    let question = question(&this)?;
    let About::Asked(asked) = question.about else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let attributes = Attributes {
        user: question.user,
        verb: Arc::unwrap_or_clone(verb),
        asked,
    };
    let decision = question.authorizer.decide(&question.store, &attributes);
    Ok(Cel::Opaque(Arc::new(Decided(decision))))
}

fn decided<T>(this: &Cel, read: impl FnOnce(&Decision) -> T) -> Result<T, ExecutionError> {
    let held = match this {
        Cel::Opaque(held) => held.downcast_ref::<Decided>(),
        _ => None,
    };
    let held = held.ok_or(ExecutionError::NoSuchOverload)?;
    Ok(read(&held.0))
}

fn allowed(This(this): This<Cel>) -> Result<bool, ExecutionError> {
    decided(&this, |decision| decision.allowed)
}

fn reason(This(this): This<Cel>) -> FunctionResult {
    let reason = decided(&this, |decision| decision.reason.clone())?;
    Ok(Cel::String(Arc::new(reason)))
}

fn errored(This(this): This<Cel>) -> Result<bool, ExecutionError> {
    decided(&this, |_| false)
}

fn error(This(this): This<Cel>) -> FunctionResult {
    let text = decided(&this, |_| String::new())?;
    Ok(Cel::String(Arc::new(text)))
}

#[cfg(test)]
mod tests;
