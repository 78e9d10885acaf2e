//! Jobs that stand on a command line or in a program instead of a file.

use crate::text_file::without_mark;

/// Whether a text is a job itself, not the name of a file: options as `rw=read bs=4k`, a command line of fio, or
/// several lines.
pub fn is_inline_job(text: &str) -> bool {
    let is_command = || command(text).is_some_and(|options| options.trim_start().starts_with('-'));
    text.contains('\n') || words(text).first().is_some_and(|word| key_of(word).is_some()) || is_command()
}

/// The text of the job file that an inline job stands for: one job `name`, if it has no name of its own.
///
/// As on fio's command line, `name=NAME` begins a job, `name=global` options for those behind it. Options may begin
/// with `--` or `-`, and then have their value behind a space. Those before the first of several names hold for all
/// jobs. A text with lines and sections is a job file already.
pub fn inline_job(text: &str, name: &str) -> String {
    if text.contains('\n') {
        let has_sections = text.lines().any(|line| line.trim_start().starts_with('['));
        return if has_sections { text.to_owned() } else { format!("[{name}]\n{text}\n") };
    }
    let mut sections: Vec<(Option<String>, Vec<String>)> = vec![(None, Vec::new())];
    for word in words(text) {
        match word.strip_prefix("name=") {
            None => sections.last_mut().expect("at least one").1.push(word),
            Some(named) => sections.push((Some(named.to_owned()), Vec::new())),
        }
    }
    // What stands before the only name belongs to it.
    if sections.len() == 2 {
        let options = std::mem::take(&mut sections[0].1);
        sections[1].1.splice(0..0, options);
    }
    let before = if sections.len() == 1 { name } else { "global" };
    if sections.len() > 1 && sections[0].1.is_empty() {
        sections.remove(0);
    }
    let section = |(named, options): &(Option<String>, Vec<String>)| {
        let lines: String = options.iter().map(|option| format!("{option}\n")).collect();
        format!("[{}]\n{lines}", named.as_deref().unwrap_or(before))
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

/// Options of fio's front end, which concern what it prints and how it runs, not what a job does.
const FRONT_END: [&str; 16] = [
    "alloc-size",
    "append-terse",
    "aux-path",
    "bandwidth-log",
    "eta",
    "eta-interval",
    "eta-newline",
    "idle-prof",
    "latency-log",
    "max-jobs",
    "minimal",
    "output",
    "output-format",
    "readonly",
    "status-interval",
    "terse-version",
];

/// What stands behind `fio` on a command line.
fn command(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let text = text.strip_prefix("sudo ").map_or(text, str::trim_start);
    text.strip_prefix("fio").filter(|rest| rest.starts_with(char::is_whitespace))
}

/// The words of a line, as fio's own options without their dashes, `key=value` where a value stands behind a space.
fn words(text: &str) -> Vec<String> {
    let mut given = command(text).unwrap_or(text).split_whitespace().peekable();
    let mut found = Vec::new();
    while let Some(word) = given.next() {
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            found.push(word.to_owned());
            continue;
        };
        let value = given.next_if(|next| !option.contains('=') && !next.starts_with('-') && !next.contains('='));
        if !FRONT_END.contains(&option.split('=').next().unwrap_or_default()) {
            found.push(value.map_or_else(|| option.to_owned(), |value| format!("{option}={value}")));
        }
    }
    found
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
    fn a_command_line_of_fio_is_read_as_fio_reads_it() {
        for (line, job) in [
            ("fio --bs=64k --name=a --rw=read --name=b --rw=write", "[global]\nbs=64k\n[a]\nrw=read\n[b]\nrw=write\n"),
            ("fio --bs=64k --name=a --rw=read", "[a]\nbs=64k\nrw=read\n"),
            ("sudo fio -iodepth 1 -thread -rw=read -name=t", "[t]\niodepth=1\nthread\nrw=read\n"),
            ("fio --minimal --name x --output=o.json --eta never --rw=read", "[x]\nrw=read\n"),
        ] {
            assert!(is_inline_job(line), "{line}");
            assert_eq!(inline_job(line, "job"), job, "{line}");
        }
        assert!(!is_inline_job("fio jobs/a.fio"));
    }

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
