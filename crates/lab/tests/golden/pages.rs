//! The files that are made from declarations.

/// Path from the root of the project, and what has to be in the file.
pub fn pages() -> [(&'static str, String); 5] {
    [
        ("docs/profile.md", ufsim_lab::profile::schema_markdown()),
        ("docs/device-facts.md", ufsim_lab::profile::facts_markdown()),
        ("docs/counters.md", ufsim_lab::profile::counters_markdown()),
        ("docs/run.md", ufsim_lab::options_markdown()),
        ("python/ufsim/_options.py", ufsim_lab::options_python()),
    ]
}
