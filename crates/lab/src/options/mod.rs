//! The options of a run, declared once: [`Spec`], what results say of a run ([`Setup`]), the Python dataclass and the
//! command line (`python/ufsim/_options.py`), and docs/run.md are made from the list below.
//!
//! To add an option, add its entry and run `cargo run -p ufsim-lab --example bless`. An entry has documentation, which
//! users read as well, and then
//!
//! - its name, which is its key in JSON; `alias` gives the one that Python uses, where it differs;
//! - its kind, with what is allowed, and its default; a `text` without one has to be given;
//! - its spelling on the command line, the word that stands for its value there, and the commands that have it;
//! - after `on`, the kinds of workload on which it acts, if not all: given with another it is refused by name. Such an
//!   option is left out unless somebody asks for it, so a default after `usually` is what it means then;
//! - after `echo`, what results say of it: type, value and meaning.

pub(crate) mod declared;
pub(crate) mod duration;
pub(crate) mod memory_plan;
pub(crate) mod page;
pub(crate) mod spec;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workload::Folded;

use crate::error::LabError;
use crate::open::kind::WorkloadKind;
use crate::profile::Override;
use crate::stack::system::Parts;
use crate::version::VERSION;

/// What an option may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text, or nothing.
    Name,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An integer, bounds included.
    Number(u64, u64),
    /// Yes or no; on the command line it is there or not.
    Switch,
    /// Any number of texts.
    Names,
    /// A number or a word, or nothing.
    Value,
    /// Numbers, booleans or words by key.
    Values,
}

/// An option of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunOption {
    /// Its name in Rust and its key in JSON.
    pub key: &'static str,
    /// Its name in Python.
    pub python: &'static str,
    /// What it means.
    doc: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// It has no default.
    pub required: bool,
    /// Its spelling on the command line; empty for what is not spelled out.
    pub flag: &'static str,
    /// What stands for its value in the help of the command line; may be empty.
    pub metavar: &'static str,
    /// The commands that have it.
    pub commands: &'static [&'static str],
    /// The kinds of workload on which it acts; empty for all.
    pub on: &'static [WorkloadKind],
    /// What it means if it is left out, where that is no value of its own.
    pub usual: Option<&'static str>,
}

impl RunOption {
    /// What it means, on one line.
    pub fn doc(&self) -> &'static str {
        self.doc.trim_start()
    }
}

/// What a run came to use where the specification leaves it open.
pub(crate) struct Settled<'a> {
    pub spec: &'a Spec,
    pub parts: Parts,
    pub overrides: Vec<Override>,
    /// What kind of workload it was; for a trace, how it was replayed.
    pub replay: &'static str,
    pub depth: Option<u32>,
    /// How a trace was folded onto the device.
    pub folded: Option<Folded>,
    /// Neighbouring requests of a trace were merged.
    pub merged: bool,
    /// The fio job that aged the device.
    pub age: Option<String>,
    pub aged_with: BTreeMap<String, String>,
}

macro_rules! options {
    ($(
        $(#[doc = $doc:literal])+
        $key:ident $(alias $alias:literal)?: $kind:ident $( ( $($allowed:tt)* ) )? $(= $default:literal)?,
        cli $flag:literal $metavar:literal [$($command:ident)*]
        $(, on [$($on:ident)*])? $(, usually $usual:literal)?
        $(, echo $Echo:ty = $echo:expr, $meaning:literal)?;
    )+) => {
        /// One run. Fields left out take their defaults; unknown fields are errors. docs/run.md lists them.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Spec {
            $( $(#[doc = $doc])+ $(#[serde(alias = $alias)])? pub $key: type_of!($kind), )+
        }

        impl Default for Spec {
            fn default() -> Spec {
                Spec { $($key: initial!($kind $($default)?),)+ }
            }
        }

        /// Every option of a run, in the order in which users see them.
        pub const OPTIONS: &[RunOption] = &[$(RunOption {
            key: stringify!($key),
            python: first!($($alias,)? stringify!($key),),
            doc: concat!($($doc),+),
            kind: kind_of!($kind $( ( $($allowed)* ) )?),
            required: required!($kind $($default)?),
            flag: $flag,
            metavar: $metavar,
            commands: &[$(stringify!($command)),*],
            on: &[$($(WorkloadKind::$on),*)?],
            usual: first!($(Some($usual),)? None,),
        }),+];

        /// Choices that a run was made of, as its result tells them.
        #[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        pub struct Setup {
            /// Version of the simulator, with the fingerprint of its code.
            pub version: String,
            /// What differed while the device aged: values of the profile by key, "scheduler", "booster", "seed".
            #[serde(default)]
            pub aged_with: BTreeMap<String, String>,
            $($( #[doc = $meaning] pub $key: $Echo, )?)+
        }

        impl Setup {
            /// What the result of a run tells of its choices.
            pub(crate) fn of(run: &Settled) -> Setup {
                Setup {
                    version: VERSION.into(),
                    aged_with: run.aged_with.clone(),
                    $($( $key: { let echo: fn(&Settled) -> $Echo = $echo; echo(run) }, )?)+
                }
            }
        }
    };
}

macro_rules! first {
    ($first:expr, $($rest:expr,)*) => {
        $first
    };
}

#[rustfmt::skip]
macro_rules! type_of {
    (text) => { String };
    (name) => { Option<String> };
    (choice) => { String };
    (choice_if_any) => { Option<String> };
    (count_if_any) => { Option<u32> };
    (wide) => { u64 };
    (switch) => { bool };
    (names) => { Vec<String> };
    (value) => { Option<Value> };
    (values) => { BTreeMap<String, Value> };
}

#[rustfmt::skip]
macro_rules! kind_of {
    (text) => { Kind::Text };
    (name) => { Kind::Name };
    (choice($($word:literal)+)) => { Kind::Choice(&[$($word),+]) };
    (choice_if_any($($word:literal)+)) => { Kind::Choice(&[$($word),+]) };
    (count_if_any($min:literal to $max:literal)) => { Kind::Number($min, $max) };
    (wide($min:literal to $max:literal)) => { Kind::Number($min, $max) };
    (switch) => { Kind::Switch };
    (names) => { Kind::Names };
    (value) => { Kind::Value };
    (values) => { Kind::Values };
}

#[rustfmt::skip]
macro_rules! initial {
    (text $default:literal) => { $default.to_owned() };
    (choice $default:literal) => { $default.to_owned() };
    ($kind:ident $default:literal) => { $default };
    ($kind:ident) => { Default::default() };
}

#[rustfmt::skip]
macro_rules! required {
    (text) => { true };
    ($($other:tt)*) => { false };
}

options! {
    /// Trace file or directory of per-CPU files, fio job, SQLite, language model, fragmentation loop, generated
    /// workload, or scenario of a phone.
    workload: text, cli "" "WORKLOAD" [run compare phone],
        echo String = |run| run.spec.workload.clone(), "Path of the workload.";
    /// Scheme: see `ufsim schemes`.
    scheme: text, cli "--scheme" "NAME" [run age calibrate],
        echo String = |run| run.spec.scheme.clone(), "Preset.";
    /// Scheduler instead of the scheme's.
    scheduler: name, cli "--scheduler" "NAME" [run compare calibrate serve linux],
        echo String = |run| run.parts.scheduler.name().into(), "Host I/O scheduler.";
    /// Booster instead of the scheme's.
    booster: name, cli "--booster" "NAME" [run],
        echo String = |run| run.parts.booster.name().into(), "Host booster.";
    /// Mapping instead of the scheme's.
    mapping: name, cli "--mapping" "NAME" [run],
        echo String = |run| run.parts.mapping.name().into(), "Device mapping scheme.";
    /// Device profile, or the path of its file: see `ufsim profiles`.
    profile: text = "hp-ufs", cli "--profile" "NAME|FILE" [run compare phone age calibrate serve linux],
        echo String = |run| run.spec.profile.clone(), "Name or path of the profile.";
    /// Traces and generated workloads: replayed at their times (timed), the same into a queue of the depth, outside of
    /// which others wait uncounted (queued), or as fast as the depth allows (closed). Job files time themselves.
    replay: choice_if_any("timed" "queued" "closed"), cli "--replay" "" [run compare],
        on [Trace Generated], usually "timed",
        echo String = |run| run.replay.into(),
        "How a trace was replayed: \"timed\", \"queued\" or \"closed\"; for others, the kind of workload, such as \
         \"fio\".";
    /// Outstanding requests in a queued or closed replay.
    depth: count_if_any(1 to 65_536), cli "--depth" "N" [run compare], on [Trace Generated], usually "8",
        echo Option<u32> = |run| run.depth, "Depth of a queued or closed replay.";
    /// Closed replay: a stream with its own depth for each per-CPU file, or processor of a generated workload.
    per_cpu_streams: switch, cli "--per-cpu-streams" "" [run compare], on [Trace Generated],
        echo bool = |run| run.spec.per_cpu_streams, "Each per-CPU file was a stream with its own depth.";
    /// Traces: merge neighbouring requests before the scheduler, as the block layer of Linux does: those recorded above
    /// it, as blktrace's queue events are (auto), all (on) or none (off). `ufsim trace info` says where a trace was
    /// recorded.
    merge: choice_if_any("auto" "on" "off"), cli "--merge" "" [run compare calibrate], on [Trace Generated],
        usually "auto",
        echo bool = |run| run.merged, "Neighbouring requests of the trace were merged before the scheduler.";
    /// How often a trace or a generated workload is replayed, one time after the other and at the same addresses.
    repeat: count_if_any(1 to 100_000), cli "--repeat" "N" [run compare], on [Trace Generated], usually "1",
        echo Option<u32> = |run| run.spec.repeat, "How often the trace was replayed, if more than once was asked for.";
    /// Seed of everything random.
    seed: wide(0 to 18_446_744_073_709_551_615) = 1, cli "--seed" "N" [run compare phone age calibrate serve linux],
        echo u64 = |run| run.spec.seed, "Seed.";
    /// Host memory that a booster may use, or 'unlimited'; left out, the profile's host.memory_mib. With ',TIME=MIB'
    /// behind it, it changes during the run: '20,10s=5,30s=20'.
    host_memory_mib: value, cli "--host-memory" "MIB[,TIME=MIB]..." [run compare phone],
        echo Option<String> = |run| run.spec.memory_over_time(),
        "The limit of host memory as it was asked for, if it changes during the run.";
    /// Overrides a profile key; repeatable.
    set alias "settings": values,
        cli "--set" "SECTION.KEY=VALUE" [run compare phone age profiles calibrate serve linux],
        echo BTreeMap<String, String> =
            |run| run.overrides.iter().map(|(key, v)| (key.clone(), v.to_string())).collect(),
        "Replaced values of the profile.";
    /// Written before the run, unmeasured: nothing, what the workload may read (footprint), or all that it may read,
    /// write or trim (touched).
    precondition: choice("none" "footprint" "touched") = "footprint", cli "--precondition" "" [run compare calibrate],
        echo String = |run| run.spec.precondition.clone(),
        "What was written before: \"none\", \"footprint\" or \"touched\".";
    /// The device to take from a trace of several, such as 253:5.
    device: name, cli "--device" "NAME" [run compare trace calibrate], on [Trace],
        echo Option<String> = |run| run.spec.device.clone(), "The device that was taken from the trace.";
    /// Format of a trace; left out, it is recognised. See `ufsim trace formats`.
    format: name, cli "--format" "NAME" [run compare trace calibrate], on [Trace];
    /// Cleaning rule for traces; repeatable.
    clean: names, cli "--clean" "RULE" [run compare trace calibrate], on [Trace],
        echo Vec<String> = |run| run.spec.clean.clone(), "Cleaning rules that were applied to the trace.";
    /// A trace that ends beyond the device: put the ranges of addresses with requests side by side, in their order.
    /// Ranges are of 64 MiB, or as much less (down to 1 MiB) as is needed to fit.
    fold: switch, cli "--fold" "" [run compare calibrate], on [Trace Generated],
        echo Option<Folded> = |run| run.folded,
        "How a trace was folded onto the device: size and number of its ranges, and where it ended and ends, in MiB; \
         nothing if it was not.";
    /// Age the device first, under its profile's own conditions, and switch it off and on: a fio job file, options of
    /// one job such as 'rw=randwrite bs=4k size=52g', a trace, whose writes and trims are made, or words: fresh, used,
    /// full, '85% full, 40% overwritten'.
    age: name, cli "--age" "JOB" [run compare phone calibrate linux serve],
        echo Option<String> = |run| run.age.clone(), "The fio job that aged the device, if it was not new.";
    /// After `age` the machine stays on, and host memory is warm: it ages as the run has it, not under its profile's
    /// own conditions, and is not switched off.
    stay_on: switch, cli "--stay-on" "" [run compare phone],
        echo bool = |run| run.spec.stay_on, "The machine that aged was not switched off before the run.";
    /// Begin with a device that `ufsim age` has aged.
    from alias "from_state": name, cli "--from" "FILE" [run compare phone calibrate linux serve];
    /// When the run has ended, read everything back that was ever written, and check it. Nothing of it is measured.
    verify: switch, cli "--verify" "" [run compare phone];
    /// Cut the power so long after the first measured request, such as 2s or 150ms. The run ends then; results say how
    /// the device recovers.
    cut_at: name, cli "--cut-at" "TIME" [run compare];
}

impl Spec {
    /// Refuses words and numbers that the declarations do not allow.
    pub(crate) fn check_options(&self) -> Result<(), LabError> {
        let given = serde_json::to_value(self).expect("options are plain values");
        for option in OPTIONS {
            let value = &given[option.key];
            let allowed = match option.kind {
                _ if value.is_null() => continue,
                Kind::Choice(words) if !words.iter().any(|word| value == word) => {
                    format!("one of {}", words.join(", "))
                }
                Kind::Number(min, max) if !value.as_u64().is_some_and(|n| (min..=max).contains(&n)) => {
                    format!("{min}..={max}")
                }
                _ => continue,
            };
            return Err(LabError::Config(format!("{} = {value}: must be {allowed}", option.key)));
        }
        Ok(())
    }

    /// Refuses options that do nothing with a workload of that kind, or with the others that are given.
    pub(crate) fn check_effects(&self, kind: WorkloadKind) -> Result<(), LabError> {
        let given = serde_json::to_value(self).expect("options are plain values");
        let elsewhere = |option: &&RunOption| !option.on.is_empty() && !option.on.contains(&kind);
        let without: Vec<&RunOption> =
            OPTIONS.iter().filter(elsewhere).filter(|option| is_given(&given[option.key])).collect();
        if !without.is_empty() {
            let told: Vec<String> = without
                .chunk_by(|a, b| a.on == b.on)
                .map(|alike| {
                    let on: Vec<_> = alike[0].on.iter().map(|kind| kind.plural()).collect();
                    let they = if alike.len() > 1 { "they are" } else { "it is" };
                    no_effect(alike, &format!("on {}; {they} for {}", kind.one(), on.join(" and ")))
                })
                .collect();
            return Err(LabError::Option(told.join(". ")));
        }
        let replay = self.replay.as_deref().unwrap_or("timed");
        let lacks = [
            ("depth", self.depth.is_some() && replay == "timed", "queued or closed"),
            ("per_cpu_streams", self.per_cpu_streams && replay != "closed", "closed"),
        ];
        match lacks.iter().find(|(_, lacks, _)| *lacks) {
            Some((key, _, needs)) => {
                let option = OPTIONS.iter().find(|option| option.key == *key).expect("the key of an option");
                Err(LabError::Option(no_effect(
                    &[option],
                    &format!("on a replay that is {replay}; it is for --replay {needs}"),
                )))
            }
            None => Ok(()),
        }
    }

    /// The limit of host memory, if it changes.
    fn memory_over_time(&self) -> Option<String> {
        let changes = self.memory_plan().is_ok_and(|plan| !plan.is_empty());
        self.host_memory_mib.as_ref()?.as_str().filter(|_| changes).map(str::to_owned)
    }

    /// The command that repeats the run.
    pub fn command(&self) -> String {
        let given = serde_json::to_value(self).expect("options are plain values");
        let mut words = vec!["ufsim run".to_owned()];
        for option in OPTIONS.iter().filter(|option| !option.flag.is_empty()) {
            let mut push = |value: &str| words.push(format!("{} {}", option.flag, quoted(value)));
            match &given[option.key] {
                Value::Null | Value::Bool(false) => {}
                Value::Bool(true) => words.push(option.flag.into()),
                Value::Array(values) => values.iter().for_each(|value| push(value.as_str().unwrap_or_default())),
                Value::Object(values) => values.iter().for_each(|(key, value)| push(&format!("{key}={value}"))),
                Value::String(text) => push(text),
                Value::Number(number) => push(&number.to_string()),
            }
        }
        words.push(quoted(&self.workload));
        words.join(" ")
    }
}

/// False for what an option is when nobody asks for it.
fn is_given(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(values) => !values.is_empty(),
        _ => true,
    }
}

fn no_effect(options: &[&RunOption], told: &str) -> String {
    let names: Vec<String> = options.iter().map(|option| format!("{} ({})", option.flag, option.python)).collect();
    let have = if options.len() > 1 { "have" } else { "has" };
    format!("{} {have} no effect {told}", names.join(" and "))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:+,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_every_choice() {
        let mut spec = Spec::new("hp-ufs", "traces/chrome 2");
        spec.set.insert("host.memory_mib".into(), 5.into());
        spec.set.insert("gc.pace".into(), "gained".into());
        (spec.replay, spec.per_cpu_streams, spec.seed) = (Some("closed".into()), true, 77);
        (spec.format, spec.clean) = (Some("blktrace".into()), vec!["gaps".into()]);
        (spec.age, spec.host_memory_mib) = (Some("rw=randwrite size=5g".into()), Some(7.into()));
        assert_eq!(
            spec.command(),
            "ufsim run --scheme hp-ufs --profile hp-ufs --replay closed --per-cpu-streams --seed 77 \
             --host-memory 7 --set 'gc.pace=\"gained\"' --set host.memory_mib=5 --precondition footprint \
             --format blktrace --clean gaps --age 'rw=randwrite size=5g' 'traces/chrome 2'"
        );
    }

    fn refused(kind: WorkloadKind, json: &str) -> Option<String> {
        let spec: Spec = serde_json::from_str(json).expect("a specification");
        match spec.check_effects(kind) {
            Ok(()) => None,
            Err(LabError::Option(text)) => Some(text),
            Err(other) => panic!("expected an option without effect, got {other:?}"),
        }
    }

    #[test]
    fn options_of_traces_are_refused_by_name_on_everything_else() {
        let given = [
            r#""depth": 8"#,
            r#""replay": "timed""#,
            r#""per_cpu_streams": true"#,
            r#""device": "8:0""#,
            r#""format": "csv""#,
            r#""clean": ["gaps"]"#,
        ];
        for kind in [
            WorkloadKind::Job,
            WorkloadKind::Sqlite,
            WorkloadKind::Phone,
            WorkloadKind::Llm,
            WorkloadKind::Fragmentation,
        ] {
            for one in given {
                let name = one.split('"').nth(1).unwrap();
                let text = refused(kind, &format!("{{{one}}}")).unwrap_or_else(|| panic!("{one} on {kind:?}"));
                let told = format!("({name}) has no effect on {}; it is for traces", kind.one());
                assert!(text.starts_with("--") && text.contains(&told), "{text}");
                let on_generated = refused(WorkloadKind::Generated, &format!("{{{one}}}")).unwrap_or_default();
                let traces_alone = on_generated.ends_with("on a generated workload; it is for traces");
                assert_eq!(traces_alone, text.ends_with("it is for traces"), "{text}");
            }
            assert_eq!(refused(kind, r#"{"seed": 2, "age": "rw=write", "precondition": "none"}"#), None);
        }
        let all =
            refused(WorkloadKind::Job, r#"{"replay": "closed", "depth": 8, "device": "8:0"}"#).unwrap_or_default();
        assert_eq!(
            all,
            "--replay (replay) and --depth (depth) have no effect on a fio job file; they are for traces and generated \
             workloads. --device (device) has no effect on a fio job file; it is for traces"
        );
        assert_eq!(refused(WorkloadKind::Job, r#"{"depth": null, "per_cpu_streams": false, "clean": []}"#), None);
    }

    #[test]
    fn options_of_another_replay_are_refused_by_name() {
        let text = |json| refused(WorkloadKind::Trace, json).unwrap_or_default();
        assert_eq!(
            text(r#"{"depth": 8}"#),
            "--depth (depth) has no effect on a replay that is timed; it is for --replay queued or closed"
        );
        assert_eq!(
            text(r#"{"per_cpu_streams": true, "replay": "queued", "depth": 2}"#),
            "--per-cpu-streams (per_cpu_streams) has no effect on a replay that is queued; it is for --replay closed"
        );
        for fine in [r#"{"replay": "timed"}"#, r#"{"replay": "closed", "depth": 2, "per_cpu_streams": true}"#] {
            assert_eq!(text(fine), "");
        }
    }

    #[test]
    fn both_names_of_an_option_are_read() {
        let text = r#"{"scheme": "ufs", "workload": "x", "settings": {"a.b": 1}, "from_state": "f"}"#;
        let spec = Spec::from_json(text).unwrap();
        assert_eq!((spec.set["a.b"].as_u64(), spec.from.as_deref()), (Some(1), Some("f")));
    }

    #[test]
    fn what_every_option_says_is_there() {
        for option in OPTIONS {
            assert!(option.doc().ends_with('.') && !option.commands.is_empty(), "{option:?}");
            assert_eq!(option.flag.is_empty(), option.key == "workload", "{option:?}");
        }
    }
}
