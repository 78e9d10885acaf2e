//! A driver that only relays: the commands are those of a host outside, such as a kernel with a driver of its own.

use ufs::{Command, DeviceInfo, Response};
use units::SimTime;

use super::Driver;
use crate::booster::{AnyBooster, BoosterKind, Relay};
use crate::config::{HostConfig, LIST_SLOTS};
use crate::request::Request;
use crate::sched::SchedulerKind;

impl Driver {
    /// A driver for a host outside, which has queues, a scheduler and caches of mappings of its own. Commands go out at
    /// once and in order, each as it is, as long as no more than 32 are in flight.
    pub fn relay(info: DeviceInfo) -> Driver {
        // One tag is kept for commands without a request; with less than all in use nobody waits for it.
        let config = HostConfig {
            tags: LIST_SLOTS,
            internal_tags: 1,
            scheduler: SchedulerKind::Noop,
            booster: BoosterKind::None,
            ..HostConfig::default()
        };
        Driver { booster: AnyBooster::Relay(Relay::default()), ..Driver::new(config, info) }
    }

    /// Takes a command from the host outside, with the request that it stands for, if it moves or orders data of the
    /// user. Its response comes out of [`Driver::relayed`]; the completion of the request has the data.
    ///
    /// # Panics
    /// If this is no relay, or the request is not within the device: the caller has to answer that itself.
    pub fn relay_command(&mut self, now: SimTime, request: Option<Request>, command: Command) {
        let AnyBooster::Relay(relay) = &mut self.booster else { panic!("this driver makes its own commands") };
        match request {
            None => relay.own(command),
            Some(request) => {
                relay.user(command);
                let ended = self.stats.completions;
                self.submit(now, request);
                assert_eq!(self.stats.completions, ended, "{request:?} is not within the device");
            }
        }
    }

    /// The next response to a command of the host outside, under the tag that it gave the command.
    pub fn relayed(&mut self) -> Option<Response> {
        let AnyBooster::Relay(relay) = &mut self.booster else { return None };
        relay.response()
    }
}

#[cfg(test)]
mod tests {
    use ufs::{DataIn, DataOut, HpbNotice, Op, PiggyBack, Status, Tag};
    use units::{AppId, Lpa, Seq};

    use super::*;
    use crate::request::RequestOp;

    fn info() -> DeviceInfo {
        DeviceInfo { hpb_group_entries: 1024, ..DeviceInfo::USUAL }
    }

    fn command(tag: u8, op: Op) -> Command {
        Command { tag: Tag(tag), op, host_seq: Seq(u64::from(tag)), freed: None, data: DataOut::None }
    }

    fn response(tag: Tag, data: DataIn) -> Response {
        let hpb = HpbNotice::DirtyGroup(u32::from(tag.0));
        Response { tag, status: Status::Good, data, hpb, piggyback: PiggyBack::default() }
    }

    #[test]
    fn commands_go_out_as_they_are_and_responses_find_their_tags() {
        let mut driver = Driver::relay(info());
        let read = Op::HpbRead { lpa: Lpa(7), len: 4000, entry: 99 };
        let request = Request { id: 3, op: RequestOp::Read, lpa: Lpa(7), len: 4000, stamp: 0, app: AppId::SYSTEM };
        driver.relay_command(SimTime::START, Some(request), command(30, read));
        driver.relay_command(SimTime::START, None, command(20, Op::HpbReadBuffer { group: 5 }));
        let sent: Vec<Command> = std::iter::from_fn(|| driver.next_command(SimTime::START)).collect();
        assert_eq!(
            sent.iter().map(|c| (c.op, c.host_seq)).collect::<Vec<_>>(),
            [(Op::HpbReadBuffer { group: 5 }, Seq(20)), (read, Seq(30)),]
        );
        driver.on_response(SimTime::START, response(sent[1].tag, DataIn::Many(vec![None; 4000])));
        driver.on_response(SimTime::START, response(sent[0].tag, DataIn::Sealed(vec![1])));
        let of_read = Response { tag: Tag(30), ..response(sent[1].tag, DataIn::None) };
        let of_buffer = Response { tag: Tag(20), ..response(sent[0].tag, DataIn::Sealed(vec![1])) };
        assert_eq!([driver.relayed(), driver.relayed(), driver.relayed()], [Some(of_read), Some(of_buffer), None]);
        let ended = driver.pop_completion().expect("the read has ended");
        assert_eq!((ended.id, ended.data), (3, DataIn::Many(vec![None; 4000])));
    }
}
