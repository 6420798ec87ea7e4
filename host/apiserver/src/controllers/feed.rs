//! What happens to all objects, with their metadata read.

use std::sync::Arc;

use serde::Deserialize;

use crate::registry::Registry;
use crate::server::Server;
use crate::store::{BellListener, Entry, EventType, Gone, GroupResource, Happened, NamespacedName};

/// Something that the controllers learn.
#[derive(Debug)]
pub(super) enum News {
    /// What was learnt before may be wrong: everything follows again.
    Lost,
    /// Other kinds are served than before.
    Kinds,
    /// An object is there, has changed, or has gone.
    Object(Box<Seen>),
}

/// What happened to an object.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) thing: Thing,
    pub(super) change: EventType,
    /// Afterwards, or as it last was.
    pub(super) meta: Meta,
    /// Before the change.
    pub(super) before: Meta,
}

/// Where an object is: its resource, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Thing {
    pub(super) place: GroupResource,
    pub(super) key: NamespacedName,
}

/// What controllers need to know of an object's metadata.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Meta {
    pub(super) uid: String,
    pub(super) owner_references: Vec<Owner>,
    pub(super) finalizers: Vec<String>,
    pub(super) deletion_timestamp: Option<String>,
    pub(super) generation: Option<i64>,
    /// Of the object, as it is kept.
    #[serde(skip)]
    pub(super) api_version: String,
    /// Of the object.
    #[serde(skip)]
    pub(super) kind: String,
}

/// An owner reference.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Owner {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) block_owner_deletion: Option<bool>,
    pub(super) controller: Option<bool>,
}

impl Meta {
    /// The metadata of an object; all else is skipped.
    pub(super) fn of(entry: &Entry) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Object {
            api_version: String,
            kind: String,
            metadata: Meta,
        }
        let object: Result<Object, _> = serde_json::from_slice(&entry.json);
        let object = object.unwrap_or_default();
        Self {
            api_version: object.api_version,
            kind: object.kind,
            ..object.metadata
        }
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether the object waits for something with this finalizer.
    pub(super) fn ends_with(&self, finalizer: &str) -> bool {
        self.is_deleting() && self.has(finalizer)
    }

    pub(super) fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|held| held == finalizer)
    }
}

impl Owner {
    /// Whether the owner manages this dependent.
    pub(super) fn controls(&self) -> bool {
        self.controller == Some(true)
    }

    /// Whether the owner waits for this dependent when it is deleted in the foreground.
    pub(super) fn blocks(&self) -> bool {
        self.block_owner_deletion == Some(true)
    }
}

impl Seen {
    /// Whether it is about objects of this built-in resource.
    pub(super) fn is(&self, group: &str, plural: &str) -> bool {
        self.thing.place.group == group && self.thing.place.plural == plural
    }

    pub(super) fn is_new(&self) -> bool {
        self.change == EventType::Added
    }

    pub(super) fn is_gone(&self) -> bool {
        self.change == EventType::Deleted
    }

    fn of(happened: Happened) -> Self {
        let event = happened.event;
        Self {
            thing: Thing {
                place: happened.place,
                key: event.entry.key.clone(),
            },
            change: event.change,
            meta: Meta::of(&event.entry),
            before: event.before.as_deref().map(Meta::of).unwrap_or_default(),
        }
    }

    fn there(place: GroupResource, entry: &Entry) -> Self {
        Self {
            thing: Thing {
                place,
                key: entry.key.clone(),
            },
            change: EventType::Added,
            meta: Meta::of(entry),
            before: Meta::default(),
        }
    }
}

/// A reader of everything that happens.
#[derive(Debug)]
pub(super) struct Feed {
    server: Server,
    bell: BellListener,
    /// How far it has read; nothing before the first time.
    seen: Option<u64>,
    registry: Arc<Registry>,
}

impl Feed {
    pub(super) fn new(server: &Server) -> Self {
        Self {
            server: server.clone(),
            bell: server.store().bell(),
            seen: None,
            registry: server.registry(),
        }
    }

    /// What has happened since the last call; the first time, what there is.
    pub(super) fn take(&mut self) -> Vec<News> {
        self.bell.mark_unchanged();
        let mut news = Vec::new();
        let store = self.server.store();
        let since = self.seen.map_or(Err(Gone), |seen| store.since(seen));
        match since {
            Ok((happened, revision)) => {
                self.seen = Some(revision);
                let seen = happened.into_iter().map(Seen::of);
                news.extend(seen.map(|seen| News::Object(Box::new(seen))));
            }
            Err(Gone) => {
                // What happens while everything is listed comes again as events.
                self.seen = Some(store.revision());
                news.push(News::Lost);
                for place in store.places() {
                    let entries = store.list(&place, None).entries.into_iter();
                    let seen = entries.map(|entry| Seen::there(place.clone(), &entry));
                    news.extend(seen.map(|seen| News::Object(Box::new(seen))));
                }
            }
        }
        let registry = self.server.registry();
        if !Arc::ptr_eq(&registry, &self.registry) {
            self.registry = registry;
            news.push(News::Kinds);
        }
        news
    }

    /// Waits until something happens.
    pub(super) async fn changed(&mut self) {
        // The sender lives as long as the store, which this reader holds.
        let _ = self.bell.changed().await;
    }
}
