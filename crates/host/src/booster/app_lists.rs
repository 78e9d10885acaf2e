//! Slots in three lists by the app that referenced them last (HPBvalve Sec. 5.2, Fig. 8): AFG, the active foreground
//! app; IFG, apps that were in the foreground before; BG, all others. When another app comes to the foreground, AFG
//! goes into IFG as a whole.

use lists::Rings;
use units::AppId;

/// Lists in the order of eviction.
pub(super) const BG: usize = 0;
/// Apps that were in the foreground before.
pub(super) const IFG: usize = 1;
/// The active foreground app.
pub(super) const AFG: usize = 2;

/// In which list a slot is. A number of a time in the foreground stands for AFG while that lasts, and for IFG
/// afterwards, so that a whole list can move at once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Place {
    /// In none: it is loading, or empty.
    #[default]
    Nowhere,
    Background,
    Foreground {
        session: u32,
    },
}

/// The lists, and who is in the foreground.
#[derive(Debug)]
pub(super) struct AppLists {
    foreground: Option<AppId>,
    /// Grows whenever another app, or none, is in the foreground.
    session: u32,
    lists: Rings<u32, 3>,
    places: Vec<Place>,
}

impl AppLists {
    /// No slots, nobody in the foreground.
    pub fn new() -> AppLists {
        AppLists { foreground: None, session: 0, lists: Rings::new(), places: Vec::new() }
    }

    /// Who is in the foreground.
    pub fn foreground(&self) -> Option<AppId> {
        self.foreground
    }

    /// Number of this time in the foreground.
    pub fn session(&self) -> u32 {
        self.session
    }

    /// Is this time in the foreground still going on?
    pub fn is_now(&self, session: u32) -> bool {
        self.foreground.is_some() && session == self.session
    }

    /// An app comes to the foreground. True if it was not there already.
    pub fn enter(&mut self, app: AppId) -> bool {
        let new = self.foreground != Some(app);
        if new {
            self.leave();
            self.foreground = Some(app);
        }
        new
    }

    /// Nobody is in the foreground: what the last one has referenced is demoted.
    pub fn leave(&mut self) {
        self.lists.move_all(AFG, IFG);
        self.session = self.session.wrapping_add(1);
        self.foreground = None;
    }

    /// Is a slot in AFG?
    pub fn is_active(&self, slot: u32) -> bool {
        matches!(self.places.get(slot as usize), Some(&Place::Foreground { session }) if self.is_now(session))
    }

    /// The time in the foreground to which a slot of AFG or IFG belongs.
    pub fn session_of(&self, slot: u32) -> Option<u32> {
        match self.places.get(slot as usize) {
            Some(&Place::Foreground { session }) => Some(session),
            _ => None,
        }
    }

    /// An app references a slot that is in a list. `known`: the app was in the foreground lately.
    pub fn reference(&mut self, slot: u32, app: AppId, known: impl FnOnce() -> bool) {
        if self.foreground == Some(app) {
            self.place(slot, AFG, false);
        } else if !self.is_active(slot) {
            let list = if known() { IFG } else { BG };
            self.place(slot, list, false);
        }
    }

    /// Puts a slot into a list, at the young end unless it is to be the `oldest` one.
    pub fn place(&mut self, slot: u32, list: usize, oldest: bool) {
        self.unlist(slot);
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, Place::Nowhere);
        }
        self.places[slot as usize] = match list {
            AFG => Place::Foreground { session: self.session },
            // Any session that is over.
            IFG => Place::Foreground { session: self.session.wrapping_sub(1) },
            _ => Place::Background,
        };
        match oldest {
            true => self.lists.push_oldest(list, slot),
            false => self.lists.push_newest(list, slot),
        }
    }

    /// Takes a slot out of its list, if it is in one.
    pub fn unlist(&mut self, slot: u32) {
        if self.places.get_mut(slot as usize).map(std::mem::take).unwrap_or_default() != Place::Nowhere {
            self.lists.remove(slot);
        }
    }

    /// The oldest slot of a list.
    pub fn oldest(&self, list: usize) -> Option<u32> {
        self.lists.oldest(list)
    }

    /// The slots of a list, oldest first.
    pub fn oldest_first(&self, list: usize) -> impl Iterator<Item = u32> + '_ {
        self.lists.oldest_first(list)
    }
}
