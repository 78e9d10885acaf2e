//! Commands and responses of a protocol between host and scheme.

use std::convert::Infallible;
use std::fmt::Debug;

use ufs::{DataIn, DataOut, Op, Response, Status};
use units::{Seq, Superblock};

use super::answers::Answer;
use crate::core::Core;
use crate::knowledge::LoadedSet;

/// A protocol between host and scheme: what commands and responses carry, and metadata commands.
pub trait HostProtocol {
    /// What a metadata command wants once its map units have been read. A scheme whose commands never wait uses
    /// [`Infallible`], so that [`HostProtocol::metadata_loaded`] can not be called.
    type Awaited: Copy + Debug + Send + super::Explored;

    /// A command is about to start. `host_seq` is the latest change that the host has applied. `freed` is a superblock
    /// that the host knows to be empty. The scheme must not trust either.
    fn on_command(&mut self, core: &mut Core, host_seq: Seq, freed: Option<Superblock>);

    /// Handles a metadata command.
    fn metadata(&mut self, core: &mut Core, op: Op, data: DataOut, host_seq: Seq) -> Answer<Self::Awaited>;

    /// The answer to a metadata command whose map units have been read.
    fn metadata_loaded(&mut self, core: &mut Core, awaited: Self::Awaited, read: &LoadedSet) -> DataIn;

    /// Adds to a response what the scheme wants to tell the host.
    fn respond(&mut self, core: &mut Core, response: &mut Response);
}

/// Marks a scheme without a protocol of its own: it refuses metadata commands.
pub trait NoProtocol {}

impl<M: NoProtocol> HostProtocol for M {
    type Awaited = Infallible;

    #[inline(always)]
    fn on_command(&mut self, _core: &mut Core, _host_seq: Seq, _freed: Option<Superblock>) {}

    fn metadata(&mut self, _core: &mut Core, _op: Op, _data: DataOut, _host_seq: Seq) -> Answer<Infallible> {
        Answer::Now(Status::InvalidField, DataIn::None)
    }

    fn metadata_loaded(&mut self, _core: &mut Core, awaited: Infallible, _read: &LoadedSet) -> DataIn {
        match awaited {}
    }

    #[inline(always)]
    fn respond(&mut self, _core: &mut Core, _response: &mut Response) {}
}
