//! Commands and responses of a protocol between host and scheme.

use std::convert::Infallible;
use std::fmt::Debug;

use ufs::{DataIn, DataOut, Op, Response, Status};
use units::{Seq, Superblock};

use super::answers::Answer;
use crate::engine::core::Core;
use crate::knowledge::LoadedSet;

/// A protocol between host and scheme: what travels with commands and responses, and metadata commands.
pub trait HostProtocol {
    /// What a metadata command wants once its map units have been read. A scheme none of whose commands waits has
    /// [`Infallible`] here, so that it can not be asked.
    type Awaited: Copy + Debug;

    /// A command is about to start. `host_seq` is the latest change that the host has applied, `freed` a superblock
    /// that it knows to be empty. Neither is to be trusted.
    fn on_command(&mut self, core: &mut Core, host_seq: Seq, freed: Option<Superblock>);

    /// A metadata command.
    fn metadata(&mut self, core: &mut Core, op: Op, data: DataOut, host_seq: Seq) -> Answer<Self::Awaited>;

    /// The map units that a metadata command waited for have been read: its answer.
    fn metadata_loaded(&mut self, core: &mut Core, awaited: Self::Awaited, read: &LoadedSet) -> DataIn;

    /// Adds what the scheme wants to tell the host to a response.
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
