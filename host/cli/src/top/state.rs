//! What is shown, and what keys make of it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use windlass_host::status::{KeyStatus, PluginDetails, PluginStatus, Status};

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// All plugins.
    Plugins,
    /// One of them.
    Plugin(String),
    /// An object: its name, and how its page is asked for.
    Object { name: String, query: String },
}

/// What a host answered.
#[derive(Debug)]
pub(super) enum Asked {
    Status(Status),
    Plugin(Box<PluginDetails>),
    Object(String),
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    Look,
    Quit,
}

/// What plugins are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Name,
    Queue,
    Passes,
    P99,
    Failing,
    Memory,
    Cpu,
}

impl Sort {
    const ALL: [Self; 7] = [
        Self::Name,
        Self::Queue,
        Self::Passes,
        Self::P99,
        Self::Failing,
        Self::Memory,
        Self::Cpu,
    ];

    /// As the columns are called.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Name => "NAME",
            Self::Queue => "QUEUE",
            Self::Passes => "PASSES/MIN",
            Self::P99 => "P99",
            Self::Failing => "FAILING",
            Self::Memory => "MEMORY",
            Self::Cpu => "CPU",
        }
    }

    fn next(self) -> Self {
        let mut all = Self::ALL.iter().copied().cycle();
        all.find(|sort| *sort == self);
        all.next().unwrap_or(Self::Name)
    }

    /// The most first; names as they are.
    fn sort(self, plugins: &mut [PluginStatus]) {
        let most = |plugin: &PluginStatus| match self {
            Self::Name => 0.0,
            Self::Queue => float(plugin.depth),
            Self::Passes => plugin.passes.last_minute as f64,
            Self::P99 => plugin.passes.p99_us as f64,
            Self::Failing => float(plugin.failing),
            Self::Memory => plugin.memory_peak as f64,
            Self::Cpu => plugin.cpu_seconds,
        };
        plugins.sort_by(|one, other| {
            let by_most = most(other).total_cmp(&most(one));
            by_most.then_with(|| one.name.cmp(&other.name))
        });
    }
}

fn float(number: usize) -> f64 {
    number as f64
}

/// All that is known of what is shown.
#[derive(Debug)]
pub(super) struct Screen {
    /// The one looked at, and those from which one came there, each with what was selected.
    views: Vec<(View, usize)>,
    view: View,
    pub(super) status: Status,
    pub(super) details: Option<Box<PluginDetails>>,
    pub(super) why: Option<String>,
    /// Which line is selected.
    pub(super) selected: usize,
    pub(super) sort: Sort,
    /// Why what is shown is old.
    pub(super) problem: Option<String>,
}

impl Screen {
    pub(super) fn new(status: Status) -> Self {
        Self {
            views: Vec::new(),
            view: View::Plugins,
            status,
            details: None,
            why: None,
            selected: 0,
            sort: Sort::Name,
            problem: None,
        }
    }

    /// What is looked at.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// The host has answered, or has not.
    pub(super) fn takes(&mut self, answer: Result<Asked, String>) {
        self.problem = None;
        match (answer, &self.view) {
            (Ok(Asked::Status(mut status)), View::Plugins) => {
                self.sort.sort(&mut status.plugins);
                self.status = status;
            }
            (Ok(Asked::Plugin(details)), View::Plugin(_)) => self.details = Some(details),
            (Ok(Asked::Object(why)), View::Object { .. }) => self.why = Some(why),
            // Of another view, which is left.
            (Ok(_), _) => {}
            (Err(problem), _) => self.problem = Some(problem),
        }
        self.selected = self.selected.min(self.lines().saturating_sub(1));
    }

    /// The objects of a plugin's view, those that fail first.
    pub(super) fn keys(&self) -> Vec<(&'static str, &KeyStatus)> {
        let Some(details) = &self.details else {
            return Vec::new();
        };
        let failing = details.failing.iter().map(|key| ("FAILING", key));
        let slowest = details.slowest.iter().map(|key| ("SLOWEST", key));
        failing.chain(slowest).collect()
    }

    /// How many lines can be selected, or gone through.
    fn lines(&self) -> usize {
        match &self.view {
            View::Plugins => self.status.plugins.len(),
            View::Plugin(_) => self.keys().len(),
            View::Object { .. } => {
                let why = self.why.as_deref().unwrap_or_default();
                // A long line takes more than one.
                why.lines().map(|line| 1 + line.chars().count() / 60).sum()
            }
        }
    }

    /// A key is pressed.
    pub(super) fn key(&mut self, key: KeyEvent) -> Next {
        let last = self.lines().saturating_sub(1);
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Next::Quit,
            KeyCode::Char('q') => Next::Quit,
            KeyCode::Up | KeyCode::Char('k') => self.select(self.selected.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select((self.selected + 1).min(last)),
            KeyCode::Home | KeyCode::Char('g') => self.select(0),
            KeyCode::End | KeyCode::Char('G') => self.select(last),
            KeyCode::Char('s') if self.view == View::Plugins => {
                self.sort = self.sort.next();
                self.sort.sort(&mut self.status.plugins);
                Next::Nothing
            }
            KeyCode::Enter | KeyCode::Right => self.open(),
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => self.back(),
            KeyCode::Char('r') => Next::Look,
            _ => Next::Nothing,
        }
    }

    fn select(&mut self, selected: usize) -> Next {
        self.selected = selected;
        Next::Nothing
    }

    fn open(&mut self) -> Next {
        let view = match &self.view {
            View::Plugins => {
                let plugin = self.status.plugins.get(self.selected);
                plugin.map(|plugin| View::Plugin(plugin.name.clone()))
            }
            View::Plugin(_) => self.object(),
            View::Object { .. } => None,
        };
        let Some(view) = view else {
            return Next::Nothing;
        };
        let before = std::mem::replace(&mut self.view, view);
        self.views.push((before, self.selected));
        self.selected = 0;
        match &self.view {
            View::Plugin(_) => self.details = None,
            View::Plugins | View::Object { .. } => self.why = None,
        }
        Next::Look
    }

    fn back(&mut self) -> Next {
        match self.views.pop() {
            Some((view, selected)) => {
                (self.view, self.selected) = (view, selected);
                Next::Look
            }
            None => Next::Quit,
        }
    }

    /// The object that is selected.
    fn object(&self) -> Option<View> {
        let (_, key) = *self.keys().get(self.selected)?;
        Some(View::Object {
            name: key.to_string(),
            query: key.query(),
        })
    }
}
