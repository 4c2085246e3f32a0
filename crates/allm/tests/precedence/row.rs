//! A row of the table: how a setting is set, and how its effect is seen.

use std::fmt;

use allm::{Chat, EngineBuilder, Generate, Request, SessionCall, Setting, Step, ToolRunOptions};

use crate::drive::{Entry, Mode, Seen};
use crate::scene::Scene;

/// What one level says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// One of the values of the row.
    Value(usize),
    Off,
}

/// What each level says.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Levels {
    pub(crate) engine: Option<Said>,
    pub(crate) request: Option<Said>,
    pub(crate) call: Option<Said>,
}

impl Levels {
    /// What the highest level says that says anything.
    pub(crate) fn decides(self) -> Option<Said> {
        self.call.or(self.request).or(self.engine)
    }
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = [
            ("engine", self.engine),
            ("request", self.request),
            ("call", self.call),
        ];
        for (name, said) in levels {
            match said {
                None => {}
                Some(Said::Off) => write!(f, " {name}=off")?,
                Some(Said::Value(value)) => write!(f, " {name}=#{value}")?,
            }
        }
        Ok(())
    }
}

type On<B> = Option<fn(B, usize) -> B>;
type OnSession = Option<for<'a> fn(SessionCall<'a>, usize) -> SessionCall<'a>>;

pub(crate) struct Row {
    pub(crate) setting: Setting,
    pub(crate) scene: Scene,
    /// How many values there are to choose from.
    pub(crate) values: usize,
    /// What the engine has besides.
    pub(crate) base: fn(EngineBuilder) -> EngineBuilder,
    /// How a value is set at each level; `None` where the setting has no such level or entry point.
    pub(crate) engine: On<EngineBuilder>,
    pub(crate) request: On<Request>,
    pub(crate) generate: On<Generate>,
    pub(crate) step: On<Step>,
    pub(crate) chat: On<Chat>,
    pub(crate) runner: On<ToolRunOptions>,
    pub(crate) session: OnSession,
    /// Whether only the events of a stream show it.
    pub(crate) only_streamed: bool,
    pub(crate) observe: fn(&Seen) -> String,
    /// What is to be seen; `None` is the default.
    pub(crate) expected: fn(Option<Said>) -> String,
}

impl Row {
    pub(crate) fn new(setting: Setting, scene: Scene, values: usize) -> Self {
        Self {
            setting,
            scene,
            values,
            base: |builder| builder,
            engine: None,
            request: None,
            generate: None,
            step: None,
            chat: None,
            runner: None,
            session: None,
            only_streamed: false,
            observe: |_| String::new(),
            expected: |_| String::new(),
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + use<> {
        let has = [
            (Entry::Generate, self.generate.is_some()),
            (Entry::Step, self.step.is_some()),
            (Entry::Chat, self.chat.is_some()),
            (Entry::Runner, self.runner.is_some()),
            (Entry::Session, self.session.is_some()),
        ];
        has.into_iter()
            .filter(|(_, has)| *has)
            .map(|(entry, _)| entry)
    }

    pub(crate) fn shows_in(&self, mode: Mode) -> bool {
        mode == Mode::Streamed || !self.only_streamed
    }

    /// Nothing said at all, each level alone, each pair of levels with everything that both can say, and all at once.
    pub(crate) fn levels(&self) -> Vec<Levels> {
        let values = || (0..self.values).map(Said::Value);
        let or_off: Vec<Option<Said>> = [None, Some(Said::Off)]
            .into_iter()
            .chain(values().map(Some))
            .collect();
        let engine = match self.engine {
            Some(_) => or_off.clone(),
            // A setting can be switched off where it cannot be set.
            None => vec![None, Some(Said::Off)],
        };
        // A request leaves out what it does not set; it has no word for "off".
        let request: Vec<Option<Said>> = match self.request {
            Some(_) => std::iter::once(None).chain(values().map(Some)).collect(),
            None => vec![None],
        };
        let mut levels = Vec::new();
        for engine in engine {
            for request in &request {
                for call in &or_off {
                    levels.push(Levels {
                        engine,
                        request: *request,
                        call: *call,
                    });
                }
            }
        }
        levels
    }
}

/// A row whose value is set by the method of this name at each of these places.
macro_rules! row {
    (
        $setting:ident in $scene:ident, $method:ident(|$i:ident| $values:literal: $value:expr), on [$($place:ident)+]
        $(, $field:ident: $say:expr)* $(,)?
    ) => {
        $crate::row::Row {
            $( $place: Some(|builder, $i| builder.$method($value)), )+
            $( $field: $say, )*
            ..$crate::row::Row::new(allm::Setting::$setting, $crate::scene::Scene::$scene, $values)
        }
    };
}

pub(crate) use row;
