//! What is made from the declarations of options: the module `ufsim._options` of the Python package, and docs/run.md.

use serde_json::Value;

use crate::options::{Kind, OPTIONS, RunOption, Spec};

/// Longest line of the Python module.
const WIDTH: usize = 110;

const PYTHON_HEAD: &str = "\
\"\"\"The options of a run, made from crates/lab/src/options/mod.rs by `cargo run -p ufsim-lab --example bless`.\"\"\"

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, SupportsFloat, SupportsIndex, TypedDict

Setting = str | int | float | bool
";

const ARGUMENTS_HEAD: &str = "

class RunOptions(TypedDict, total=False):
    \"\"\"Keyword arguments of `run`, `compare` and `phone`: fields of `Options`, as callers may write them.

    Numbers may be numpy scalars, files may be paths.
    \"\"\"
";

/// The Python module: a dataclass whose fields carry what the command line needs to know of them, and the same as typed
/// keyword arguments.
pub fn options_python() -> String {
    let mut text = PYTHON_HEAD.to_owned();
    for option in OPTIONS {
        if let Kind::Choice(words) = option.kind {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            text += &format!("{} = Literal[{}]\n", type_name(option), words.join(", "));
        }
    }
    text += "\n\n@dataclass(frozen=True, kw_only=True)\nclass Options:\n";
    text +=
        "    \"\"\"What can be said of a run. Each field's metadata has its help and its place on the command line.";
    text += "\"\"\"\n\n";
    let defaults = serde_json::to_value(Spec::default()).expect("options are plain values");
    for option in OPTIONS {
        text += &format!("    {}: {} = field(\n", option.python, python_type(option));
        if let Some(default) = python_default(option, &defaults[option.key]) {
            text += &format!("        {default},\n");
        }
        text += "        metadata={\n";
        text += &python_help(&with_usual(option));
        text +=
            &format!("            \"flag\": \"{}\",\n            \"metavar\": \"{}\",\n", option.flag, option.metavar);
        if let Kind::Number(min, max) = option.kind {
            text += &format!("            \"range\": ({min}, {max}),\n");
        }
        let commands: Vec<String> = option.commands.iter().map(|command| format!("\"{command}\"")).collect();
        let comma = if commands.len() == 1 { "," } else { "" };
        text += &format!("            \"commands\": ({}{comma}),\n        }},\n    )\n", commands.join(", "));
    }
    text + ARGUMENTS_HEAD + &OPTIONS.iter().filter(|option| !option.required).map(python_argument).collect::<String>()
}

/// An option as an entry of the typed dictionary, with its help as editors show it.
fn python_argument(option: &RunOption) -> String {
    let kind = match option.kind {
        Kind::Name if names_file(option) => "str | PathLike[str] | None".into(),
        Kind::Text if names_file(option) => "str | PathLike[str]".into(),
        Kind::Number(..) => format!("SupportsIndex{}", or_nothing(option)),
        Kind::Names => "Iterable[str]".into(),
        Kind::Value => "SupportsIndex | str | None".into(),
        Kind::Values => "Mapping[str, str | SupportsIndex | SupportsFloat]".into(),
        _ => python_type(option),
    };
    let help = wrapped(&with_usual(option), WIDTH - 10).join("\n    ").replace(" \n", "\n");
    format!("\n    {}: {kind}\n    \"\"\"{help}\"\"\"\n", option.python)
}

/// True if the value may be the path of a file.
fn names_file(option: &RunOption) -> bool {
    option.metavar.contains("FILE") || option.metavar.contains("JOB")
}

/// A text in lines of at most so many characters, each with the space that follows it.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        if lines.last().is_some_and(|line| line.len() + word.len() > width) {
            lines.push(String::new());
        }
        lines.last_mut().expect("there is a line").push_str(word);
    }
    lines
}

/// The name of a choice's type: `replay` has `Replay`.
fn type_name(option: &RunOption) -> String {
    let (first, rest) = option.python.split_at(1);
    first.to_uppercase() + rest
}

/// What an option means, with what it is if it is left out where Python can not say that.
fn with_usual(option: &RunOption) -> String {
    match option.usual {
        Some(usual) => format!("{} (default: {usual})", option.doc()),
        None => option.doc().into(),
    }
}

/// The end of the type of an option that is nothing unless somebody asks for it.
fn or_nothing(option: &RunOption) -> &'static str {
    if option.usual.is_some() { " | None" } else { "" }
}

fn python_type(option: &RunOption) -> String {
    match option.kind {
        Kind::Text => "str".into(),
        Kind::Name => "str | None".into(),
        Kind::Choice(_) => type_name(option) + or_nothing(option),
        Kind::Number(..) => format!("int{}", or_nothing(option)),
        Kind::Switch => "bool".into(),
        Kind::Names => "list[str]".into(),
        Kind::Value => "int | str | None".into(),
        Kind::Values => "dict[str, Setting]".into(),
    }
}

fn python_default(option: &RunOption, default: &Value) -> Option<String> {
    match (option.kind, default) {
        _ if option.required => None,
        (Kind::Names, _) => Some("default_factory=list".into()),
        (Kind::Values, _) => Some("default_factory=dict".into()),
        (_, Value::Null) => Some("default=None".into()),
        (_, Value::Bool(_)) => Some("default=False".into()),
        (_, value) => Some(format!("default={value}")),
    }
}

/// The help as an entry of the metadata, in lines of the module's width.
fn python_help(doc: &str) -> String {
    let quoted = |line: &str| Value::from(line).to_string();
    if doc.len() < WIDTH - 12 {
        return format!("            \"help\": {},\n", quoted(doc));
    }
    let lines: Vec<String> =
        wrapped(doc, WIDTH - 18).iter().map(|line| format!("                {}\n", quoted(line))).collect();
    format!("            \"help\": (\n{}            ),\n", lines.concat())
}

const PAGE_HEAD: &str = "\
# Options of a run

Made from the declarations in crates/lab/src/options/mod.rs by `cargo run -p ufsim-lab --example bless`.

The names are those of Python's `ufsim.run` and `ufsim.compare`, and of the JSON that `ufsim._core` takes.
`ufsim compare` and `ufsim phone` take several schemes with `--schemes`, `ufsim age` the job as its argument.
Python and the command line take scheme `hp-ufs` if none is given; `ufsim calibrate` takes `ufs`. `ufsim phone` takes
profile `hpbvalve`.
An option that has no effect on a kind of workload is refused there.

| option | command line | allowed | default | workloads | commands | meaning |
|---|---|---|---|---|---|---|
";

/// The page of the documentation.
pub fn options_markdown() -> String {
    let defaults = serde_json::to_value(Spec::default()).expect("options are plain values");
    let row = |option: &RunOption| {
        let flag = format!("{} {}", option.flag, option.metavar);
        let default = match &defaults[option.key] {
            _ if option.required => "must be given".into(),
            _ if option.usual.is_some() => format!("`{}`", option.usual.unwrap_or_default()),
            Value::Null | Value::Array(_) | Value::Object(_) => "none".into(),
            Value::Bool(_) => "off".into(),
            Value::String(text) => format!("`{text}`"),
            value => value.to_string(),
        };
        let named = match option.python == option.key {
            true => format!("`{}`", option.key),
            false => format!("`{}`, in JSON also `{}`", option.python, option.key),
        };
        let cells = [
            named,
            format!("`{}`", flag.trim().replace('|', "\\|")),
            allowed(option.kind),
            default,
            kinds(option),
            option.commands.join(", "),
            option.doc().into(),
        ];
        format!("| {} |\n", cells.join(" | "))
    };
    PAGE_HEAD.to_owned() + &OPTIONS.iter().map(row).collect::<String>()
}

/// The kinds of workload on which an option acts.
fn kinds(option: &RunOption) -> String {
    if option.on.is_empty() {
        "all".into()
    } else {
        option.on.iter().map(|k| k.plural()).collect::<Vec<_>>().join(", ")
    }
}

fn allowed(kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::Name => "a text".into(),
        Kind::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Kind::Number(min, max) => format!("{min} to {max}"),
        Kind::Switch => "on, off".into(),
        Kind::Names => "texts".into(),
        Kind::Value => "a number or a word".into(),
        Kind::Values => "numbers, booleans and words by key".into(),
    }
}
