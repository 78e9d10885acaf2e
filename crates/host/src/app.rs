//! What the operating system tells the driver about apps (HPBvalve Sec. 5.1: App-Detector and Mem-Detector).

use units::AppId;

/// The state of an app has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AppSignal {
    /// The app comes to the foreground by a cold or warm launch, or by a switch. All other apps are in the background
    /// from now on.
    LaunchStart(AppId),
    /// The app in the foreground has drawn its first frame and runs.
    LaunchEnd(AppId),
    /// The app has been killed or has ended. Boosters keep its profile.
    Ended(AppId),
}
