//! What a job file may ask of the world around it: variables, files to include, logs to replay.

use std::path::{Component, Path, PathBuf};

use crate::trace::files;
use crate::{Format, TraceError, TraceFile, text_file};

/// Where values and files come from that a job file names.
pub trait Surroundings {
    /// The value of an environment variable, if it is set.
    fn variable(&self, name: &str) -> Option<String>;

    /// The text of a job file.
    ///
    /// # Errors
    /// Why there is none, without the path.
    fn text(&self, path: &Path) -> Result<String, String>;

    /// The contents of an I/O log.
    ///
    /// # Errors
    /// [`TraceError::Io`] and whatever else keeps it from being read.
    fn log(&self, path: &Path) -> Result<TraceFile, TraceError>;
}

/// The file system, and variables that somebody else looks up: this crate does not see the environment.
pub struct FileSystem<'a> {
    /// Looks up a variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Surroundings for FileSystem<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name)
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        text_file(path)
    }

    fn log(&self, path: &Path) -> Result<TraceFile, TraceError> {
        files::load_one(path, Some(Format::Iolog))
    }
}

/// A job file that stands for itself: no variables, and no other files.
pub struct Nothing;

impl Surroundings for Nothing {
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn text(&self, _path: &Path) -> Result<String, String> {
        Err("a job that is read by itself includes nothing".into())
    }

    fn log(&self, path: &Path) -> Result<TraceFile, TraceError> {
        let source = std::io::Error::other("a job that is read by itself has no logs");
        Err(TraceError::Io { file: path.display().to_string(), source })
    }
}

/// A path that a job file names: relative to that file, not to the working directory, so that it means the same
/// wherever one stands. `.` and `..` are taken out, so that one file has one path.
pub(super) fn beside(job_file: &str, named: &str) -> PathBuf {
    let joined = Path::new(job_file).parent().unwrap_or(Path::new("")).join(named);
    let mut path = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(path.components().next_back(), Some(Component::Normal(_))) => {
                path.pop();
            }
            _ => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_job_file() {
        for (job_file, named, path) in [
            ("jobs/a.fio", "b.fio", "jobs/b.fio"),
            ("a.fio", "./b.fio", "b.fio"),
            ("jobs/a.fio", "../b.fio", "b.fio"),
            ("jobs/a.fio", "../../b.fio", "../b.fio"),
            ("jobs/a.fio", "/etc/b.fio", "/etc/b.fio"),
        ] {
            assert_eq!(beside(job_file, named), Path::new(path), "{job_file} {named}");
        }
    }
}
