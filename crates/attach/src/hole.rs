//! Promises around the device that can be broken on purpose, so that the simulation of the whole shows that it notices.

units::kinds! {
    /// A promise that is broken on purpose.
    pub Hole {
        /// requests of a host that lost its power reach the device of the next one
        DeadHosts = "dead-hosts";
        /// files are opened for writing before anybody looks what they are
        DestroyedFiles = "destroyed-files";
        /// a store is opened without a look at its checksums
        UncheckedStore = "unchecked-store";
        /// who waits for connections is not told that the server ends
        ForgottenDoor = "forgotten-door";
        /// a remark that cannot be written ends the thread that makes it
        LoudNotes = "loud-notes";
        /// clients that say nothing stay, and make room for nobody
        SilentClients = "silent-clients";
        /// files of the server can be read by all users
        OpenFiles = "open-files";
        /// replies that nobody takes are kept without a limit
        EndlessMemory = "endless-memory";
        /// what a read has shown is not kept if the store refuses it
        ReturningTrims = "returning-trims";
        /// the last line of a log is repeated, whether it is whole or not
        HalfLines = "half-lines";
    }
}
