//! What is wrong with a profile.

use thiserror::Error;

/// Something is wrong with a profile, or with a value that replaces one of its values.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("profile {profile}: {problem}")]
pub struct ProfileError {
    /// Name or path of the profile.
    pub profile: String,
    /// Key, value and allowed range, or what else is wrong.
    pub problem: String,
}
