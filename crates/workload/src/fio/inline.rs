//! Jobs that stand on a command line or in a program instead of a file.

use crate::text_file::without_mark;

/// Whether a text is a job itself, not the name of a file: options as `rw=read bs=4k`, a command line of fio, or
/// several lines.
pub fn is_inline_job(text: &str) -> bool {
    text.contains('\n') || words(text).next().is_some_and(|word| key_of(word).is_some())
}

/// The text of the job file that an inline job stands for: one job `name`, if it has no name of its own.
///
/// As on fio's command line, `name=NAME` begins a job, `name=global` options for those behind it, and options may begin
/// with `--`. A text with lines and sections is a job file already.
pub fn inline_job(text: &str, name: &str) -> String {
    if text.contains('\n') {
        let has_sections = text.lines().any(|line| line.trim_start().starts_with('['));
        return if has_sections { text.to_owned() } else { format!("[{name}]\n{text}\n") };
    }
    let mut sections: Vec<(Option<&str>, Vec<&str>)> = vec![(None, Vec::new())];
    for word in words(text) {
        match word.strip_prefix("name=") {
            None => sections.last_mut().expect("at least one").1.push(word),
            // Options before the first name are its own.
            Some(named) if sections[0].0.is_none() => sections[0].0 = Some(named),
            Some(named) => sections.push((Some(named), Vec::new())),
        }
    }
    let section = |(named, options): &(Option<&str>, Vec<&str>)| {
        let lines: String = options.iter().map(|option| format!("{option}\n")).collect();
        format!("[{}]\n{lines}", named.unwrap_or(name))
    };
    sections.iter().map(section).collect()
}

/// Whether a text that may be cut off is a job file, as far as its beginning tells: comments, then a section.
pub fn looks_like_job(head: &str) -> bool {
    let lines = without_mark(head).lines().map(str::trim);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with([';', '#']));
    let name = first.and_then(|line| line.strip_prefix('[')?.split([';', '#']).next()?.trim_end().strip_suffix(']'));
    name.is_some_and(|name| !name.trim().is_empty() && !name.starts_with('['))
}

/// The words of a line, as fio's own options without their dashes. `fio` itself may stand before them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().enumerate();
    words.filter(|(at, word)| *at > 0 || *word != "fio").map(|(_, word)| word.strip_prefix("--").unwrap_or(word))
}

/// The option that a word sets.
fn key_of(word: &str) -> Option<&str> {
    let (key, _) = word.split_once('=')?;
    let is_name =
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b));
    is_name.then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_told_from_a_path() {
        for job in [
            "rw=randread",
            "bs=4k size=1m",
            "--rw=read --size=1m",
            "fio --name=a --rw=read",
            "[a]\nrw=read",
            "rw=read\n",
        ] {
            assert!(is_inline_job(job), "{job}");
        }
        for path in ["", "jobs/a.fio", "a=b/c.fio", "./rw=read", "trace with spaces", "fio", "A=b", "=x"] {
            assert_eq!(is_inline_job(path), path == "a=b/c.fio", "{path}");
        }
    }

    #[test]
    fn options_become_a_section_and_names_begin_jobs() {
        assert_eq!(inline_job("rw=read  bs=4k", "job"), "[job]\nrw=read\nbs=4k\n");
        assert_eq!(inline_job("rw=read name=mine bs=4k", "job"), "[mine]\nrw=read\nbs=4k\n");
        assert_eq!(
            inline_job("fio --name=global --rw=read --name=a --size=1m --name=b --stonewall", "job"),
            "[global]\nrw=read\n[a]\nsize=1m\n[b]\nstonewall\n"
        );
        assert_eq!(inline_job("rw=read\nbs=4k", "job"), "[job]\nrw=read\nbs=4k\n");
        assert_eq!(inline_job(" [x]\nrw=read", "job"), " [x]\nrw=read");
    }

    #[test]
    fn the_beginning_tells_a_job_file() {
        for job in ["[a]\n", "\u{feff}; c\n\n# d\n  [global] ; all\nrw=read\n", "[a b]\nrw"] {
            assert!(looks_like_job(job), "{job}");
        }
        for other in ["", "rw=read\n[a]\n", "[]\n", "[a\n", "# tracer: nop\n", "[[app]]\n", "1,2,3\n"] {
            assert!(!looks_like_job(other), "{other}");
        }
    }
}
