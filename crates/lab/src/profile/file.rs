//! Where the text of a profile comes from: one that is built in, by name, or a file, by path.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use super::error::ProfileError;

/// The profiles that come with the program: name and text.
pub const EMBEDDED: &[(&str, &str)] = &[
    ("hp-ufs", include_str!("../../../../profiles/hp-ufs.toml")),
    ("hp-ufs-1tib", include_str!("../../../../profiles/hp-ufs-1tib.toml")),
    ("emmc-map-plus", include_str!("../../../../profiles/emmc-map-plus.toml")),
    ("hpb", include_str!("../../../../profiles/hpb.toml")),
    ("hpbvalve", include_str!("../../../../profiles/hpbvalve.toml")),
    ("msftl", include_str!("../../../../profiles/msftl.toml")),
    ("pixel4", include_str!("../../../../profiles/pixel4.toml")),
    ("pixel4-used", include_str!("../../../../profiles/pixel4-used.toml")),
    ("nexus5", include_str!("../../../../profiles/nexus5.toml")),
    ("emmc45", include_str!("../../../../profiles/emmc45.toml")),
    ("ufs21", include_str!("../../../../profiles/ufs21.toml")),
    ("ufs-3.1-256", include_str!("../../../../profiles/ufs-3.1-256.toml")),
    ("ufs-4.0-512", include_str!("../../../../profiles/ufs-4.0-512.toml")),
    ("ufs-4.1-1tb", include_str!("../../../../profiles/ufs-4.1-1tb.toml")),
    ("mqsim", include_str!("../../../../profiles/mqsim.toml")),
    ("instant", include_str!("../../../../profiles/instant.toml")),
    ("tiny", include_str!("../../../../profiles/tiny.toml")),
];

/// The text of a profile.
#[derive(Clone, Debug)]
pub(super) struct ProfileFile {
    /// The name or path that it was asked for by.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Where the paths begin that it names; without it, it can name only what is built in.
    folder: Option<PathBuf>,
    /// What makes it the same as another one.
    identity: PathBuf,
}

impl ProfileFile {
    /// A text that stands in no file.
    pub fn of_text(name: &str, text: &str) -> ProfileFile {
        ProfileFile { name: name.into(), text: text.into(), folder: None, identity: PathBuf::new() }
    }

    /// A built-in profile by name, or a file by path.
    pub fn open(name_or_path: &str) -> Result<ProfileFile, ProfileError> {
        let failed = |problem| ProfileError { profile: name_or_path.into(), problem };
        if let Some(file) = embedded(name_or_path) {
            return Ok(file);
        }
        let path = Path::new(name_or_path);
        let looks_like_path = name_or_path.contains(MAIN_SEPARATOR) || path.extension().is_some();
        if !looks_like_path && !path.exists() {
            return Err(failed(format!("no such profile: must be one of {}, or the path of a file", names())));
        }
        read(path, name_or_path).map_err(|problem| failed(format!("cannot be read: {problem}")))
    }

    /// The profile that this one names in `extends`.
    pub fn parent(&self, name: &str) -> Result<ProfileFile, ProfileError> {
        let failed = |problem: String| ProfileError {
            profile: self.name.clone(),
            problem: format!("extends = \"{name}\": {problem}"),
        };
        if let Some(file) = embedded(name) {
            return Ok(file);
        }
        let Some(folder) = &self.folder else {
            return Err(failed(format!("no such profile: must be one of {}", names())));
        };
        let path = folder.join(name);
        let looks_like_path = name.contains(MAIN_SEPARATOR) || Path::new(name).extension().is_some();
        if !looks_like_path && !path.exists() {
            let problem = format!("no such profile: must be one of {}, or the path of a file from here", names());
            return Err(failed(problem));
        }
        let shown = path.display().to_string();
        read(&path, &shown).map_err(|problem| failed(format!("{shown} cannot be read: {problem}")))
    }

    /// True if both are the same file, or the same built-in profile.
    pub fn is(&self, other: &ProfileFile) -> bool {
        self.identity == other.identity
    }
}

fn names() -> String {
    let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

fn embedded(name: &str) -> Option<ProfileFile> {
    let (name, text) = EMBEDDED.iter().find(|(known, _)| *known == name)?;
    // No path of a file is like this.
    let identity = PathBuf::from(format!("\0{name}"));
    Some(ProfileFile { name: (*name).into(), text: (*text).into(), folder: None, identity })
}

fn read(path: &Path, name: &str) -> Result<ProfileFile, String> {
    let text = workload::text_file(path)?;
    let identity = path.canonicalize().map_err(|error| error.to_string())?;
    Ok(ProfileFile { name: name.into(), text, folder: path.parent().map(Path::to_path_buf), identity })
}
