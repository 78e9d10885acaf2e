//! The loop of turns.

use std::ops::ControlFlow;

use ufshci::{Controller, Medium};
use units::SimTime;

use crate::boot::{Guest, GuestError};
use crate::page::Asked;

/// How a guest's session has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It has halted.
    Halted {
        /// When it gave its last turn.
        at: SimTime,
    },
    /// The caller has stopped it: it is gone for this process, and the device is where it was.
    Stopped {
        /// When.
        at: SimTime,
    },
}

/// Why a guest is not served any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// Its power is taken away.
    Off,
    /// This process is a copy (fork), and the other one goes on with the guest.
    ToAnother,
}

/// Asked after every turn, with the guest's time and the number of the turn, and now and then while the guest keeps its
/// own turn for long: then the last is true.
pub type Watch<'a> = dyn FnMut(SimTime, u64, bool) -> ControlFlow<Left> + 'a;

/// Serves a guest until it halts or is stopped. `begins` is called when its job begins, with the time.
///
/// # Errors
/// If it dies.
pub fn serve<M: Medium>(
    mut guest: Guest,
    controller: &mut Controller<M>,
    watch: &mut Watch,
    begins: &mut dyn FnMut(&mut Controller<M>, SimTime),
) -> Result<Ended, GuestError> {
    let (mut at, mut turns) = (SimTime::START, 0);
    let mut ahead = false;
    let mut answered = false;
    let left = loop {
        if !std::mem::replace(&mut answered, true) {
            let (next, within) = (controller.changes_from(), controller.changes_after());
            guest.answer(controller.registers(), controller.line(), next, within, ahead.then_some(at));
        }
        let Some(asked) = guest.turn()? else {
            if let ControlFlow::Break(left) = watch(at, turns, true) {
                break left;
            }
            continue;
        };
        let Asked::Run { writes, now, until, begins: job } = asked else {
            guest.end()?;
            return Ok(Ended::Halted { at });
        };
        for write in writes {
            // Whatever a guest says of the time, it never goes back.
            at = at.max(write.now);
            controller.run(at, &mut guest.ram);
            controller.write(at, write.register, write.value, &mut guest.ram);
        }
        at = at.max(now);
        controller.run(at, &mut guest.ram);
        if job {
            begins(controller, at);
        }
        ahead = run_ahead(controller, &mut guest, &mut at, until);
        (turns, answered) = (turns + 1, false);
        if let ControlFlow::Break(left) = watch(at, turns, false) {
            break left;
        }
    };
    if left == Left::ToAnother {
        guest.leave();
    }
    Ok(Ended::Stopped { at })
}

/// Goes on while the guest is idle, up to the moment at which it is interrupted. True if that has come.
fn run_ahead<M: Medium>(controller: &mut Controller<M>, guest: &mut Guest, at: &mut SimTime, until: SimTime) -> bool {
    if controller.line() {
        return false;
    }
    while let Some(next) = controller.next_event().filter(|&next| next < until) {
        *at = (*at).max(next);
        controller.run(*at, &mut guest.ram);
        if controller.line() {
            return true;
        }
    }
    false
}
