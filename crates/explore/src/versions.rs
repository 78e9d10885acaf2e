//! Versions that a unit may hold after a power cut: the last one that a flush or FUA has made durable, or any newer
//! one.

use std::collections::BTreeMap;

use host::Request;
use units::Lpa;

#[derive(Clone, Copy, Hash, Debug)]
struct Version {
    /// Number of the request.
    request: u32,
    /// Stamp of the write; 0 = zeroes.
    content: u32,
    /// Position in the order of acknowledgements; 0 = not acknowledged.
    acked: u64,
}

/// Versions of the units that have changed since they were last durable.
#[derive(Clone, Hash, Debug, Default)]
pub(crate) struct Versions {
    /// By unit, in order of submission, without the versions that were durable before.
    open: BTreeMap<u32, Vec<Version>>,
    /// The durable version of these units.
    durable: BTreeMap<u32, u32>,
    acknowledged: u64,
}

impl Versions {
    /// Number of acknowledgements so far.
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

    /// A write or trim is acknowledged. It is durable if `durable`.
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

    /// A flush has completed: everything acknowledged up to `until` is durable.
    pub fn flushed(&mut self, until: u64) {
        for (&lpa, versions) in &mut self.open {
            if let Some(at) = versions.iter().rposition(|v| v.acked > 0 && v.acked <= until) {
                self.durable.insert(lpa, versions[at].content);
                versions.drain(..=at);
            }
        }
        self.open.retain(|_, versions| !versions.is_empty());
    }

    /// The stamps that a unit may hold after a power cut; `acked` is the stamp acknowledged last.
    pub fn allowed(&self, lpa: Lpa, acked: u32) -> Vec<u32> {
        let Some(open) = self.open.get(&lpa.0) else { return vec![acked] };
        let durable = self.durable.get(&lpa.0).copied().unwrap_or(0);
        std::iter::once(durable).chain(open.iter().map(|v| v.content)).collect()
    }

    /// Everything has been read after a power cut; these contents are final.
    pub fn settle(&mut self, contents: &[u32]) {
        self.open.clear();
        self.durable = (0..).zip(contents).filter(|(_, content)| **content != 0).map(|(l, c)| (l, *c)).collect();
    }
}
