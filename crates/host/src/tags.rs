//! The commands in flight, by tag.

use ufs::{Op, Tag};

use crate::config::MAX_TAGS;

/// What the driver remembers of a command in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// What was asked.
    pub op: Op,
    /// For user commands: the request it belongs to.
    pub owner: Option<Owner>,
}

/// Which units of which request a command covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    /// Index in the request table.
    pub request: u32,
    /// First unit of the command, counted from the start of the request.
    pub offset: u32,
    /// Number of units; 1 for a flush.
    pub units: u32,
}

/// Free tags and commands in flight.
pub(crate) struct TagTable {
    free: u32,
    users: u8,
    user_limit: u8,
    sent: [Option<Sent>; MAX_TAGS as usize],
    peak: u32,
}

impl TagTable {
    /// `tags` tags, of which user commands leave `internal` alone.
    pub fn new(tags: u8, internal: u8) -> TagTable {
        TagTable {
            free: u32::MAX >> (MAX_TAGS - tags),
            users: 0,
            user_limit: tags - internal,
            sent: [None; MAX_TAGS as usize],
            peak: 0,
        }
    }

    /// Can an internal command be sent?
    #[inline]
    pub fn any_free(&self) -> bool {
        self.free != 0
    }

    /// Can a user command be sent?
    #[inline]
    pub fn user_free(&self) -> bool {
        self.free != 0 && self.users < self.user_limit
    }

    /// Most commands that were ever in flight at a time. Tags are taken lowest first, so the highest one tells.
    pub fn peak(&self) -> u32 {
        self.peak
    }

    /// Takes a tag.
    #[inline]
    pub fn take(&mut self, sent: Sent) -> Tag {
        assert!(self.free != 0, "a command was made without a free tag");
        let tag = self.free.trailing_zeros();
        self.free &= self.free - 1;
        self.users += u8::from(sent.owner.is_some());
        self.peak = self.peak.max(tag + 1);
        self.sent[tag as usize] = Some(sent);
        Tag(tag as u8)
    }

    /// The command in flight under a tag.
    pub fn sent(&self, tag: Tag) -> Option<&Sent> {
        self.sent.get(usize::from(tag.0))?.as_ref()
    }

    /// Gives a tag back.
    #[inline]
    pub fn release(&mut self, tag: Tag) -> Sent {
        let sent = self.sent.get_mut(usize::from(tag.0)).and_then(Option::take);
        let sent = sent.unwrap_or_else(|| panic!("a response came for tag {}, which names no command", tag.0));
        self.users -= u8::from(sent.owner.is_some());
        self.free |= 1 << tag.0;
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> Sent {
        Sent { op: Op::Flush, owner: Some(Owner { request: 0, offset: 0, units: 1 }) }
    }

    fn internal() -> Sent {
        Sent { op: Op::EntryTransfer, owner: None }
    }

    #[test]
    fn user_commands_leave_the_internal_tags_alone() {
        let mut tags = TagTable::new(4, 1);
        for _ in 0..3 {
            assert!(tags.user_free());
            tags.take(user());
        }
        assert!(!tags.user_free());
        assert!(tags.any_free());
        assert_eq!(tags.take(internal()), Tag(3));
        assert!(!tags.any_free());
        tags.release(Tag(1));
        assert!(tags.user_free());
    }

    #[test]
    fn internal_commands_may_take_every_tag() {
        let mut tags = TagTable::new(3, 1);
        for _ in 0..3 {
            tags.take(internal());
        }
        assert!(!tags.user_free(), "no tag is left, whatever the share of user commands");
        assert_eq!(tags.peak(), 3);
    }

    #[test]
    #[should_panic(expected = "names no command")]
    fn a_response_without_a_command_is_a_bug() {
        TagTable::new(2, 1).release(Tag(0));
    }
}
