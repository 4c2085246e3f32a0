//! Changes of single events.

/// The change of one kind of event, in every scenario.
macro_rules! changed {
    ($variant:ident, |$event:ident| $change:expr) => {
        (|_, event| match event {
            Some(Event::$variant(mut $event)) => {
                $change;
                vec![Event::$variant($event)]
            }
            event => event.into_iter().collect(),
        }) as Change
    };
    ($scenario:ident, $variant:ident, |$event:ident| $change:expr) => {
        (|scenario, event| match event {
            Some(Event::$variant(mut $event)) if scenario == Scenario::$scenario => {
                $change;
                vec![Event::$variant($event)]
            }
            event => event.into_iter().collect(),
        }) as Change
    };
}

/// The same of what is shared.
macro_rules! completed {
    ($scenario:ident, $variant:ident, |$event:ident| $change:expr) => {
        (|scenario, event| match event {
            Some(Event::$variant($event)) if scenario == Scenario::$scenario => {
                let mut $event = Arc::unwrap_or_clone($event);
                $change;
                vec![Event::$variant(Arc::new($event))]
            }
            event => event.into_iter().collect(),
        }) as Change
    };
}
