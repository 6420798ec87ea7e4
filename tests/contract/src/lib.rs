//! One contract test, two servers: the embedded API server must answer as the real kube-apiserver does.
//!
//! A scenario is a file, `scenarios/<row>/<name>.yaml`: a sentence, and steps. It says what is asked and
//! never what is answered: each is played on both servers, in a fresh namespace, and the masked answers
//! are compared field by field.
//!
//! ```yaml
//! shows: A second create of one name is refused.
//! steps:
//! - post: "{{core}}/configmaps"
//!   body: { apiVersion: v1, kind: ConfigMap, metadata: { name: a } }
//!   capture: { uid: /metadata/uid }
//! - watch: "{{core}}/configmaps"          # `events` takes from it by its `name`
//! - events: watch
//!   count: 1                              # or `until: closed`, `until: bookmark`
//! - patch: "{{core}}/configmaps/a"
//!   type: merge                           # json, merge, strategic, apply or a content type
//!   query: { dryRun: All }
//!   body: { metadata: { uid: "{{uid}}" } }
//! - wait: "{{core}}/configmaps/a"         # or `METHOD path`
//!   until: { status: 404 }                # and `values: { /pointer: value }`
//! ```
//!
//! - Steps are `get`, `post`, `put`, `patch`, `delete`, `request: METHOD path`, `watch`, `events`, `wait`,
//!   and `crd`, which creates a CRD and waits until it is served. The body is `body` (sent as JSON) or
//!   `raw`; `accept` is `table`, `metadata` or a media type; `only` and `without` choose by patterns
//!   ([`path`]) what of a body is compared; `wait` compares the last answer only with `compare: true`.
//! - Placeholders: `{{ns}}`, `{{id}}` (for names outside the namespace), the paths `{{core}}`, `{{apps}}`,
//!   `{{batch}}`, `{{shared}}` (the kinds of `shared.yaml`) and `{{crds}}`, what was captured, and
//!   `{{repeat 1000 x}}`.
//! - `masks.yaml` lists what no two servers answer alike ([`mask`]), and `differences.yaml` the differences
//!   that are accepted ([`listed`]): a listed one that is gone fails the test as an unlisted one does.
//! - Every verb of every resource that the embedded server's discovery lists must be done with success in some
//!   scenario, or stand in `unserved.yaml` with its answer and the reason. `verbs.yaml` has a sample of each
//!   resource, of which a scenario is made ([`verbs`]).
//! - A scenario with `alone: true` changes what others see, and is played before them.
//!
//! - Nothing is cleaned up: both servers are made for one run. The real one has only the controllers that
//!   the contract is about (garbage collection, namespaces, service accounts); RBAC is on, and the harness
//!   is an administrator who may impersonate anybody.
//! - A step that cannot be made is a fault even if it cannot be made on both servers: nothing to capture, an
//!   event or a state that does not come in time.
//!
//! `cargo test -p windlass-contract --test contract ssa` plays one row. `WINDLASS_CONTRACT_SECOND` chooses the
//! second server: a kubeconfig, or `real` for the real server against itself, which tries the masks. The
//! program `contract` plays chosen scenarios by hand:
//!
//! ```text
//! contract serve                                        # keeps a real control plane, prints its kubeconfig
//! contract play --kubeconfig A ssa/ watch/apply         # the masked answers of one server
//! contract play --kubeconfig A --against B ssa/         # where two servers differ
//! contract install --count 400                          # how long CRDs take on both servers
//! contract mutations --seed 7 Ingress Service           # valid objects with one changed field ([`mutations`])
//! ```
//!
//! `make mutants` tries the contract itself: the embedded server gets one bug after the other
//! (`tests/mutants.rs`), and the scenarios must catch each.
//!
//! From above: [`suite`] reads the [`scenario`]s and plays the rows; [`judge`] has [`play`] tell one story to
//! each [`server`], masks both transcripts ([`mask`]), and [`compare`]s them.

pub mod compare;
pub mod definitions;
pub mod judge;
pub mod kubectl;
pub mod listed;
pub mod mask;
pub mod mutations;
pub mod path;
pub mod play;
pub mod plugins;
pub mod scenario;
pub mod server;
mod spelling;
mod step;
pub mod suite;
mod template;
pub mod verbs;
pub mod view;
mod watch;
mod yaml;
