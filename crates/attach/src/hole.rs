//! Promises around the device that can be broken on purpose, so that the simulation of the whole shows that it notices.

macro_rules! holes {
    ($($(#[doc = $doc:literal])* $hole:ident = $name:literal, $summary:literal;)*) => {
        /// A promise that is broken on purpose.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Hole {
            $(#[doc = $summary] $hole,)*
        }

        impl Hole {
            /// All of them, by name.
            pub const ALL: &[(&'static str, Hole)] = &[$(($name, Hole::$hole)),*];

            /// What happens then, in one line.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Hole::$hole => $summary,)*
                }
            }
        }
    };
}

holes! {
    DeadHosts = "dead-hosts", "requests of a host that lost its power reach the device of the next one";
    DestroyedFiles = "destroyed-files", "files are opened for writing before anybody looks what they are";
    UncheckedStore = "unchecked-store", "a store is opened without a look at its checksums";
    ForgottenDoor = "forgotten-door", "who waits for connections is not told that the server ends";
    LoudNotes = "loud-notes", "a remark that cannot be written ends the thread that makes it";
    SilentClients = "silent-clients", "clients that say nothing stay, and make room for nobody";
    OpenFiles = "open-files", "files of the server can be read by all users";
    EndlessMemory = "endless-memory", "replies that nobody takes are kept without a limit";
    ReturningTrims = "returning-trims", "what a read has shown is not kept if the store refuses it";
    HalfLines = "half-lines", "the last line of a log is repeated, whether it is whole or not";
}
