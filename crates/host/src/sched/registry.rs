//! The schedulers and their names. To add one, write its file in this folder and its line below.

units::kinds! {
    /// The schedulers.
    pub SchedulerKind, list schedulers {
        /// First in, first out.
        Noop = "noop" in noop::Fifo;
        /// Read over write.
        Row = "row" in row::Row;
        /// The smallest first, with read over write.
        Amphibian = "amphibian" in amphibian::Amphibian;
        /// Hit prioritised (MAP+ Sec. V-A).
        Hp = "hp" in hp::Hp;
        /// Request batched (MAP+ Sec. V-B).
        Rb = "rb" in rb::Rb;
        /// The same with sorted batches (MAP+ Sec. V-C).
        Bs = "bs" in bs::Bs;
        /// Hit prioritised and request batched.
        Map = "map" in map::Map;
        /// Hit prioritised, with sorted batches.
        MapPlus = "map-plus" in map_plus::MapPlus;
        /// Linux's deadline scheduler.
        MqDeadline = "mq-deadline" in mq_deadline::MqDeadline;
    }
}
pub(super) use schedulers;
