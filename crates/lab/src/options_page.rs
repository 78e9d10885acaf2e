//! What is made from the declarations of options: the module `ufsim._options` of the Python package, and docs/run.md.

use serde_json::Value;

use crate::options::{Kind, OPTIONS, RunOption, Spec};

/// Longest line of the Python module.
const WIDTH: usize = 110;

const PYTHON_HEAD: &str = "\
\"\"\"The options of a run, made from crates/lab/src/options.rs by `cargo run -p ufsim-lab --example bless`.\"\"\"

from dataclasses import dataclass, field
from typing import Literal

Setting = str | int | float | bool
";

/// The Python module: a dataclass whose fields carry what the command line needs to know of them.
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
    text
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

fn python_type(option: &RunOption) -> String {
    let or_nothing = if option.usual.is_some() { " | None" } else { "" };
    match option.kind {
        Kind::Text => "str".into(),
        Kind::Name => "str | None".into(),
        Kind::Choice(_) => type_name(option) + or_nothing,
        Kind::Number(..) => format!("int{or_nothing}"),
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
    let mut lines = vec![String::new()];
    for word in doc.split_inclusive(' ') {
        if lines.last().is_some_and(|line| line.len() + word.len() > WIDTH - 18) {
            lines.push(String::new());
        }
        lines.last_mut().expect("there is a line").push_str(word);
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("                {}\n", quoted(line))).collect();
    format!("            \"help\": (\n{}            ),\n", lines.concat())
}

const PAGE_HEAD: &str = "\
# Options of a run

Made from the declarations in crates/lab/src/options.rs by `cargo run -p ufsim-lab --example bless`.

The names are those of Python's `ufsim.run` and `ufsim.compare`, and of the JSON that `ufsim._core` takes.
`ufsim compare` and `ufsim phone` take several schemes with `--schemes`, `ufsim age` the job as its argument.
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
