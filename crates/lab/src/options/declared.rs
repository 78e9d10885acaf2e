//! What the documentation makes of declarations: names and meanings, as JSON.

use nand::Cause;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use workload::fio::MODELLED;

use crate::options::Setup;
use crate::report::result::RunResult;

/// A JSON object:
///
/// - `setup` and `result`: JSON schemas of what a result tells of its run's choices, and of a whole result;
/// - `causes`: what operations of the flash are charged to, each with its meaning;
/// - `fio_options`: the options of fio that are modelled, each with its other names.
pub fn declared() -> Value {
    let causes: Vec<_> = Cause::NAMES.iter().zip(Cause::ABOUT.map(str::trim)).collect();
    json!({
        "setup": schema::<Setup>(),
        "result": schema::<RunResult>(),
        "causes": causes,
        "fio_options": MODELLED,
    })
}

fn schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().into()
}
