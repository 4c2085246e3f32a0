//! Reports of progress, as a client is told of them.

use allm_core::ToolProgress;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};

/// Where the reports of a call go: nowhere, if the client gave no token.
pub(super) struct Reports {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    scale: Scale,
}

impl Reports {
    pub(super) fn new(peer: &Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self {
            to: token.map(|token| (peer.clone(), token)),
            scale: Scale::default(),
        }
    }

    /// Tells a client how far a call is.
    pub(super) async fn tell(&mut self, report: &ToolProgress) {
        let Some((peer, token)) = &self.to else {
            return;
        };
        let Some(progress) = self.scale.next(report.progress, report.message.is_some()) else {
            return;
        };
        let mut told = ProgressNotificationParam::new(token.clone(), progress);
        told.total = report.total.filter(|total| total.is_finite());
        told.message.clone_from(&report.message);
        // A client that is gone is told no more; that it is gone is seen elsewhere.
        let _ = peer.notify_progress(told).await;
    }
}

/// How far a call is, for MCP, which wants a number that grows with every report.
///
/// Reports in words alone are counted, until a tool says a number. What does not grow after that is told only for its
/// words, as the least that is more.
#[derive(Debug, Default)]
struct Scale {
    last: Option<f64>,
    has_numbers: bool,
}

impl Scale {
    fn next(&mut self, said: Option<f64>, has_words: bool) -> Option<f64> {
        let said = said.filter(|progress| progress.is_finite());
        self.has_numbers |= said.is_some();
        let next = match (said, self.last) {
            (Some(progress), None) => progress,
            (Some(progress), Some(last)) if progress > last => progress,
            _ if !has_words => return None,
            (_, None) => 1.0,
            (_, Some(last)) if self.has_numbers => last.next_up(),
            (_, Some(last)) => last + 1.0,
        };
        self.last = Some(next);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(reports: &[(Option<f64>, bool)]) -> Vec<Option<f64>> {
        let mut scale = Scale::default();
        let reports = reports.iter();
        reports
            .map(|(said, has_words)| scale.next(*said, *has_words))
            .collect()
    }

    /// M113
    #[test]
    fn what_is_told_always_grows() {
        assert_eq!(
            told(&[(None, true), (None, true), (None, false), (None, true)]),
            [Some(1.0), Some(2.0), None, Some(3.0)]
        );
        assert_eq!(
            told(&[
                (Some(0.0), false),
                (Some(50.0), false),
                (Some(50.0), false),
                (Some(20.0), true),
                (None, true),
                (Some(f64::NAN), false),
                (Some(100.0), true),
            ]),
            [
                Some(0.0),
                Some(50.0),
                None,
                Some(50.0_f64.next_up()),
                Some(50.0_f64.next_up().next_up()),
                None,
                Some(100.0)
            ]
        );
    }
}
