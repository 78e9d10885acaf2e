//! What a unit may hold after a power cut: the last version that a flush or FUA has made durable, or any newer one.

use std::collections::BTreeMap;

use host::Request;
use units::Lpa;

#[derive(Clone, Copy, Debug)]
struct Version {
    /// Number of the request.
    request: u32,
    /// Stamp of the write; 0 = zeroes.
    content: u32,
    /// Position among the acknowledgements; 0 = none yet.
    acked: u64,
}

/// Versions of the units that were changed since they were last durable.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// By unit, in the order of submission. What was durable before them is not listed.
    open: BTreeMap<u32, Vec<Version>>,
    /// The durable version of these units.
    durable: BTreeMap<u32, u32>,
    acknowledged: u64,
}

impl Versions {
    /// Acknowledgements so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// A write or trim is being submitted.
    pub fn submitted(&mut self, request: &Request, content: u32) {
        let version = Version { request: request.id, content, acked: 0 };
        for lpa in request.lpa.0..request.lpa.0 + request.len {
            self.open.entry(lpa).or_default().push(version);
        }
    }

    /// It is acknowledged, and durable if `durable`.
    pub fn acked(&mut self, request: &Request, durable: bool) {
        self.acknowledged += 1;
        for lpa in request.lpa.0..request.lpa.0 + request.len {
            let versions = self.open.get_mut(&lpa).expect("a version was noted when it was submitted");
            let at = versions.iter().position(|v| v.request == request.id).expect("as above");
            versions[at].acked = self.acknowledged;
            if durable {
                self.durable.insert(lpa, versions[at].content);
                versions.drain(..=at);
            }
        }
    }

    /// A flush has completed: what was acknowledged up to `until` is durable.
    pub fn flushed(&mut self, until: u64) {
        for (&lpa, versions) in &mut self.open {
            if let Some(at) = versions.iter().rposition(|v| v.acked > 0 && v.acked <= until) {
                self.durable.insert(lpa, versions[at].content);
                versions.drain(..=at);
            }
        }
        self.open.retain(|_, versions| !versions.is_empty());
    }

    /// The stamps that a unit may hold after a power cut, if `acked` was acknowledged last.
    pub fn allowed(&self, lpa: Lpa, acked: u32) -> Vec<u32> {
        let Some(open) = self.open.get(&lpa.0) else { return vec![acked] };
        let durable = self.durable.get(&lpa.0).copied().unwrap_or(0);
        std::iter::once(durable).chain(open.iter().map(|v| v.content)).collect()
    }

    /// Everything has been read after a power cut and is as it stays.
    pub fn settle(&mut self, contents: &[u32]) {
        self.open.clear();
        self.durable = (0..).zip(contents).filter(|(_, content)| **content != 0).map(|(l, c)| (l, *c)).collect();
    }
}
