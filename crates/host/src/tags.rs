//! The commands in flight, by tag.

use std::hash::{Hash, Hasher};

use ufs::{Command, DataOut, Op, Tag};
use units::Seq;

/// A command in flight, as the driver remembers it.
#[derive(Clone, Copy, Hash, Debug)]
pub(crate) struct Sent {
    /// The command.
    pub op: Op,
    /// For a user command: its request.
    pub owner: Option<Owner>,
}

/// The units of a request that a command covers.
#[derive(Clone, Copy, Hash, Debug)]
pub(crate) struct Owner {
    /// Index in the request table.
    pub request: u32,
    /// First unit of the command, counted from the start of the request.
    pub offset: u32,
    /// Number of units; 1 for a flush.
    pub units: u32,
}

/// The memory of a tag. A command stays in it until the device fetches it, as in a phone. Moving a command from
/// function to function is slow, because it has just been written.
#[derive(Clone, Hash)]
struct Place {
    command: Command,
    owner: Option<Owner>,
}

/// Free tags and commands in flight.
#[derive(Clone)]
pub(crate) struct TagTable {
    /// One bit per tag in use.
    taken: [u64; MAX_TAGS / 64],
    /// Commands in flight, and those of them that are of users.
    in_flight: u16,
    users: u16,
    limit: u16,
    user_limit: u16,
    /// Of every tag that a host can have, so that no tag needs to be compared with their number.
    places: Box<[Place; MAX_TAGS]>,
    peak: u32,
}

/// Tags that eight bits can name: as many as a host can have.
const MAX_TAGS: usize = ufs::MAX_TAGS as usize;

impl TagTable {
    /// `tags` tags. User commands leave `internal` of them free.
    pub fn new(tags: u16, internal: u16) -> TagTable {
        let place = |tag| Place {
            command: Command { tag: Tag(tag as u8), op: Op::Flush, host_seq: Seq(0), freed: None, data: DataOut::None },
            owner: None,
        };
        let places = Box::new(std::array::from_fn(place));
        let user_limit = tags - internal;
        TagTable { taken: [0; _], in_flight: 0, users: 0, limit: tags, user_limit, places, peak: 0 }
    }

    /// True if an internal command can be sent.
    #[inline]
    pub fn any_free(&self) -> bool {
        self.in_flight < self.limit
    }

    /// True if a user command can be sent.
    #[inline]
    pub fn user_free(&self) -> bool {
        self.any_free() && self.users < self.user_limit
    }

    /// Commands in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.into()
    }

    /// Largest number of commands in flight. The lowest free tag is taken first, so the highest tag ever taken gives
    /// it.
    pub fn peak(&self) -> u32 {
        self.peak
    }

    /// Takes a tag for a command without data. The caller adds what is missing.
    #[inline(always)]
    pub fn take(&mut self, op: Op, owner: Option<Owner>) -> &mut Command {
        assert!(self.any_free(), "a command was made without a free tag");
        let tag = self.lowest_free();
        self.taken[usize::from(tag) / 64] |= 1 << (tag % 64);
        self.in_flight += 1;
        self.users += u16::from(owner.is_some());
        self.peak = self.peak.max(u32::from(tag) + 1);
        let place = &mut self.places[usize::from(tag)];
        place.owner = owner;
        let command = &mut place.command;
        (command.op, command.host_seq, command.freed) = (op, Seq(0), None);
        command.data.put(DataOut::None);
        command
    }

    /// The lowest free tag. There is one.
    #[inline(always)]
    fn lowest_free(&self) -> u8 {
        let within = self.taken[0].trailing_ones();
        if within < u64::BITS { within as u8 } else { self.lowest_free_from_64() }
    }

    #[cold]
    #[inline(never)]
    fn lowest_free_from_64(&self) -> u8 {
        let full = self.taken.iter().take_while(|&&word| word == u64::MAX).count();
        (64 * full) as u8 + self.taken[full].trailing_ones() as u8
    }

    /// The command under a tag that has been taken.
    #[inline]
    pub fn command(&self, tag: Tag) -> &Command {
        &self.places[usize::from(tag.0)].command
    }

    /// Hands this command to the device. Its data is moved out.
    #[inline]
    pub fn fetch(&mut self, tag: Tag) -> Command {
        let command = &mut self.places[usize::from(tag.0)].command;
        let data = std::mem::take(&mut command.data);
        Command { data, ..*command }
    }

    /// The command in flight under a tag.
    pub fn sent(&self, tag: Tag) -> Option<Sent> {
        self.is_taken(tag).then(|| {
            let place = &self.places[usize::from(tag.0)];
            Sent { op: place.command.op, owner: place.owner }
        })
    }

    #[inline]
    fn is_taken(&self, tag: Tag) -> bool {
        self.taken[usize::from(tag.0) / 64] >> (tag.0 % 64) & 1 != 0
    }

    /// Gives a tag back.
    #[inline]
    pub fn release(&mut self, tag: Tag) -> Sent {
        assert!(self.is_taken(tag), "a response came for tag {}, which names no command", tag.0);
        let place = &self.places[usize::from(tag.0)];
        let sent = Sent { op: place.command.op, owner: place.owner };
        self.users -= u16::from(sent.owner.is_some());
        self.in_flight -= 1;
        self.taken[usize::from(tag.0) / 64] &= !(1 << (tag.0 % 64));
        sent
    }
}

/// The commands in flight. What is left under a free tag means nothing, and the peak is a counter.
impl Hash for TagTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.taken, self.users).hash(state);
        let taken = (0..=u8::MAX).zip(&*self.places).filter(|&(tag, _)| self.is_taken(Tag(tag)));
        taken.for_each(|taken| taken.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_user(tags: &mut TagTable) -> Tag {
        tags.take(Op::Flush, Some(Owner { request: 0, offset: 0, units: 1 })).tag
    }

    fn take_internal(tags: &mut TagTable) -> Tag {
        tags.take(Op::EntryTransfer, None).tag
    }

    #[test]
    fn a_command_is_remembered_until_its_answer_but_its_data_are_given_away() {
        let mut tags = TagTable::new(2, 1);
        let tag = take_user(&mut tags);
        assert!(tags.sent(Tag(1)).is_none());
        let command = tags.take(Op::SegmentWrite { segment: units::SegmentId(3) }, None);
        command.data = DataOut::Stamp(7);
        assert_eq!((command.tag, tag), (Tag(1), Tag(0)));
        assert_eq!(tags.fetch(Tag(1)).data, DataOut::Stamp(7));
        assert_eq!(tags.command(Tag(1)).data, DataOut::None);
        assert!(matches!(tags.sent(Tag(1)), Some(Sent { op: Op::SegmentWrite { .. }, owner: None })));
        tags.release(Tag(1));
        assert!(tags.sent(Tag(1)).is_none());
    }

    #[test]
    fn user_commands_leave_the_internal_tags_alone() {
        let mut tags = TagTable::new(4, 1);
        for _ in 0..3 {
            assert!(tags.user_free());
            take_user(&mut tags);
        }
        assert!(!tags.user_free());
        assert!(tags.any_free());
        assert_eq!(take_internal(&mut tags), Tag(3));
        assert!(!tags.any_free());
        tags.release(Tag(1));
        assert!(tags.user_free());
    }

    #[test]
    fn internal_commands_may_take_every_tag() {
        let mut tags = TagTable::new(3, 1);
        for _ in 0..3 {
            take_internal(&mut tags);
        }
        assert!(!tags.user_free(), "no tag is left, whatever the share of user commands");
        assert_eq!(tags.peak(), 3);
    }

    #[test]
    fn the_lowest_free_tag_goes_first_up_to_the_last_of_eight_bits() {
        let mut tags = TagTable::new(256, 1);
        let taken: Vec<u8> = (0..256).map(|_| take_internal(&mut tags).0).collect();
        assert_eq!(taken, (0..=255).collect::<Vec<u8>>());
        assert!(!tags.any_free() && tags.in_flight() == 256 && tags.peak() == 256);
        for tag in [255, 64, 63] {
            tags.release(Tag(tag));
        }
        assert_eq!([63, 64, 255].map(|_| take_internal(&mut tags).0), [63, 64, 255]);
    }

    #[test]
    #[should_panic(expected = "names no command")]
    fn a_response_without_a_command_is_a_bug() {
        TagTable::new(2, 1).release(Tag(0));
    }
}
