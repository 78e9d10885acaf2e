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

/// The list of a slot. `Foreground` has the number of a session, a time that an app spends in the foreground. During
/// that session it means AFG, afterwards IFG, so that a whole list can move at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
enum Place {
    /// In no list: the slot is loading or empty.
    #[default]
    Unlisted,
    Background,
    Foreground {
        session: u32,
    },
}

/// The lists, and the app in the foreground.
#[derive(Clone, Hash, Debug)]
pub(super) struct AppLists {
    foreground: Option<AppId>,
    /// Number of the session; grows whenever another app, or none, comes to the foreground.
    session: u32,
    lists: Rings<u32, 3>,
    places: Vec<Place>,
}

impl AppLists {
    /// No slots, and no app in the foreground.
    pub fn new() -> AppLists {
        AppLists { foreground: None, session: 0, lists: Rings::new(), places: Vec::new() }
    }

    /// The app in the foreground.
    pub fn foreground(&self) -> Option<AppId> {
        self.foreground
    }

    /// Number of the present session.
    pub fn session(&self) -> u32 {
        self.session
    }

    /// True if this session has not ended.
    pub fn is_current(&self, session: u32) -> bool {
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

    /// No app is in the foreground any more. The slots of the last one move to IFG.
    pub fn leave(&mut self) {
        self.lists.move_all(AFG, IFG);
        self.session = self.session.wrapping_add(1);
        self.foreground = None;
    }

    /// True if a slot is in AFG.
    pub fn is_active(&self, slot: u32) -> bool {
        matches!(self.places.get(slot as usize), Some(&Place::Foreground { session }) if self.is_current(session))
    }

    /// The session of a slot in AFG or IFG.
    pub fn session_of(&self, slot: u32) -> Option<u32> {
        match self.places.get(slot as usize) {
            Some(&Place::Foreground { session }) => Some(session),
            _ => None,
        }
    }

    /// An app references a slot that is in a list. `known` tells whether the app was in the foreground recently.
    pub fn reference(&mut self, slot: u32, app: AppId, known: impl FnOnce() -> bool) {
        if self.foreground == Some(app) {
            self.place(slot, AFG, false);
        } else if !self.is_active(slot) {
            let list = if known() { IFG } else { BG };
            self.place(slot, list, false);
        }
    }

    /// Puts a slot at the young end of a list, or with `oldest` at its old end.
    pub fn place(&mut self, slot: u32, list: usize, oldest: bool) {
        self.unlist(slot);
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, Place::Unlisted);
        }
        self.places[slot as usize] = match list {
            AFG => Place::Foreground { session: self.session },
            // Any session that has ended.
            IFG => Place::Foreground { session: self.session.wrapping_sub(1) },
            _ => Place::Background,
        };
        match oldest {
            true => self.lists.push_oldest(list, slot),
            false => self.lists.push_newest(list, slot),
        }
    }

    /// Removes a slot from its list, if it is in one.
    pub fn unlist(&mut self, slot: u32) {
        if self.places.get_mut(slot as usize).map(std::mem::take).unwrap_or_default() != Place::Unlisted {
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
