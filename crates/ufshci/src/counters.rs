//! What the controller counts.

/// What has happened so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Commands for the medium.
    pub commands: u64,
    /// SCSI commands that were answered without it.
    pub local_commands: u64,
    /// Of all SCSI commands, those that ended with CHECK CONDITION.
    pub refused_commands: u64,
    /// Commands that found the device busy with an earlier one of their tag (HP-UFS).
    pub turned_away: u64,
    /// QUERY REQUESTs.
    pub queries: u64,
    /// UIC commands.
    pub uic_commands: u64,
    /// Task management requests.
    pub tasks: u64,
    /// Slots that the driver has given up while their command was at work.
    pub aborted_slots: u64,
    /// Resets of the controller.
    pub resets: u64,
    /// How often the driver has switched the device off and on.
    pub power_cycles: u64,
    /// Descriptors, tables or addresses in guest memory that were wrong.
    pub bad_lists: u64,
}

impl Counters {
    /// Names and values.
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("commands", self.commands),
            ("local_commands", self.local_commands),
            ("refused_commands", self.refused_commands),
            ("turned_away", self.turned_away),
            ("queries", self.queries),
            ("uic_commands", self.uic_commands),
            ("tasks", self.tasks),
            ("aborted_slots", self.aborted_slots),
            ("resets", self.resets),
            ("power_cycles", self.power_cycles),
            ("bad_lists", self.bad_lists),
        ]
    }
}
