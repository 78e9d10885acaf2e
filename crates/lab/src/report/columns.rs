//! What a run can keep beside its result, with the declared columns of each kind.

use serde_json::{Value, json};
use workload::report::columns::Declared;
use workload::report::phone::READS;

use crate::observe::{SERIES, log_columns};

/// The columns of logs, of series and of reads of phones: an object of lists of objects with `name`, `dtype` (as pandas
/// spells it), `unit`, `meaning`, and `words`, all of a column's if they are the same in every run.
pub fn columns_json() -> String {
    json!({ "log": told(log_columns()), "series": told(SERIES), "reads": told(READS) }).to_string()
}

fn told<'a, R: 'a>(columns: impl IntoIterator<Item = &'a Declared<R>>) -> Value {
    let told = columns.into_iter().map(|column| {
        let &Declared { name, dtype, unit, meaning, words, .. } = column;
        json!({ "name": name, "dtype": dtype, "unit": unit, "meaning": meaning, "words": words })
    });
    told.collect()
}
