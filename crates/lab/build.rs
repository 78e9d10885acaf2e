//! A fingerprint of the code that decides what a simulation does. Results carry it behind the version, and so do files
//! of aged states: a state is used only by the simulator that made it, or a comparison would mix two of them.
//!
//! It is made of the tokens of this crate and of all crates of the workspace that it is built of, and of the devices
//! and apps that are built in. Comments, documentation, layout, and what only tests compile are left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Folders of the devices and apps that are built in.
const BUILT_IN: [&str; 2] = ["profiles", "apps"];

fn main() {
    let (sum, read) = fingerprint(Path::new("../.."));
    for path in read {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rustc-env=UFSIM_SOURCES={sum:016x}");
}

/// The fingerprint of the workspace at `root`, and the folders and files that it depends on.
pub fn fingerprint(root: &Path) -> (u64, Vec<PathBuf>) {
    let crates = crates_of(root);
    let manifests = crates.iter().map(|path| path.join("Cargo.toml"));
    let folders = crates.iter().map(|path| path.join("src")).chain(BUILT_IN.map(|name| root.join(name)));
    let folders: Vec<PathBuf> = folders.filter(|folder| folder.is_dir()).collect();
    let mut files = Vec::new();
    folders.iter().for_each(|folder| collect(folder, &mut files));
    files.sort();
    let mut tests = BTreeSet::new();
    let mut said = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("a source that was listed can be read");
        let content = if path.extension().is_some_and(|e| e == "rs") {
            code(&text, &path, &mut tests)
        } else {
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
        };
        said.push((path, content));
    }
    said.retain(|(path, _)| !tests.iter().any(|test| path.with_extension("").starts_with(test)));
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for (path, content) in &said {
        let name = path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        let bytes = name.bytes().chain(content.bytes());
        sum = bytes.fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }
    (sum, folders.into_iter().chain(manifests).chain([root.join("Cargo.toml")]).collect())
}

/// The folders of the crate `lab` and of all crates of the workspace that it is built of.
fn crates_of(root: &Path) -> BTreeSet<PathBuf> {
    let manifest = |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let workspace = manifest(root);
    let path_of = |name: &str| {
        let line =
            workspace.lines().find(|line| line.strip_prefix(name).is_some_and(|l| l.starts_with(" = { path")))?;
        line.split('"').nth(1).map(|path| root.join(path))
    };
    let mut found = BTreeSet::new();
    let mut next = vec![root.join("crates/lab")];
    while let Some(folder) = next.pop() {
        let text = manifest(&folder);
        let own = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        let names = own.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split(['.', ' ']).next());
        next.extend(names.filter_map(path_of).filter(|path| !found.contains(path)));
        found.insert(folder);
    }
    found
}

/// The sources and tables in a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("a folder that can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs" || e == "toml") {
            files.push(path);
        }
    }
}

/// A module that only tests have.
enum Module {
    Named(String),
    /// In this file beside the source, by an attribute.
    At(String),
}

/// The tokens of a source that are no documentation and not for tests alone. The modules of tests that it declares are
/// added to `tests`, each as the path of its file without the extension.
fn code(text: &str, path: &Path, tests: &mut BTreeSet<PathBuf>) -> String {
    let tokens: TokenStream = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut modules = Vec::new();
    let mut said = String::new();
    keep(tokens, &mut said, &mut modules);
    let beside = path.parent().expect("a file in a folder");
    let own = ["lib.rs", "mod.rs"].iter().any(|name| path.ends_with(name));
    let below = if own { beside.into() } else { path.with_extension("") };
    tests.extend(modules.into_iter().map(|module| match module {
        Module::Named(name) => below.join(name),
        Module::At(file) => beside.join(file).with_extension(""),
    }));
    said
}

fn keep(tokens: TokenStream, said: &mut String, modules: &mut Vec<Module>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest = tokens.as_slice();
    while let [first, others @ ..] = rest {
        if let Some((attribute, after)) = attribute(rest) {
            rest = after;
            if attribute == "cfg(test)" {
                rest = skip_item(rest, modules);
            } else if !attribute.starts_with("doc=") {
                *said += &format!("#[{attribute}]");
            }
            continue;
        }
        rest = others;
        match first {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                *said += open;
                keep(group.stream(), said, modules);
                *said += close;
            }
            other => *said += &format!("{other} "),
        }
    }
}

/// The attribute with which tokens begin, without blanks, and what follows it.
fn attribute(tokens: &[TokenTree]) -> Option<(String, &[TokenTree])> {
    let is = |token: &TokenTree, sign| matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign);
    let (sign, mut rest) = tokens.split_first()?;
    if !is(sign, '#') {
        return None;
    }
    if let Some((second, others)) = rest.split_first()
        && is(second, '!')
    {
        rest = others;
    }
    match rest.split_first()? {
        (TokenTree::Group(group), rest) if group.delimiter() == Delimiter::Bracket => {
            Some((group.stream().to_string().replace(' ', ""), rest))
        }
        _ => None,
    }
}

/// What follows an item: it ends with a block, or before it with a sign that ends a statement, a field or a branch.
fn skip_item<'a>(mut tokens: &'a [TokenTree], modules: &mut Vec<Module>) -> &'a [TokenTree] {
    let mut file = None;
    while let Some((attribute, rest)) = attribute(tokens) {
        file = attribute.strip_prefix("path=").map(|path| path.trim_matches('"').to_owned()).or(file);
        tokens = rest;
    }
    let ends = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => [';', ','].contains(&punct.as_char()),
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    let end = tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1);
    let (item, rest) = tokens.split_at(end);
    if let [.., TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(_)] = item
        && word == "mod"
    {
        modules.push(file.map_or_else(|| Module::Named(name.to_string()), Module::At));
    }
    rest
}
