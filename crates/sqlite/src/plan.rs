//! The transactions of a workload, and the content of the tables after each.

use std::collections::VecDeque;

use workload::{Rng, named_stream};

use crate::spec::{Operation, SqliteSpec};

/// Most rows that one transaction of the fill inserts.
const FILL_ROWS: u32 = 500;

/// One transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Makes a table.
    Create {
        /// Its number.
        table: usize,
    },
    /// Inserts rows before anything is measured.
    Fill {
        /// Number of the table.
        table: usize,
        /// Number of rows.
        rows: u32,
        /// Number of the first value; the others follow.
        value: u64,
    },
    /// A measured transaction.
    Run {
        /// Kind of the transaction.
        operation: Operation,
        /// Number of the phase: the position in the list of operations.
        phase: usize,
        /// Number of the table.
        table: usize,
        /// Number of the row.
        row: i64,
        /// Number of the value that it writes.
        value: u64,
    },
}

impl Step {
    /// True unless it only reads.
    pub fn writes(&self) -> bool {
        !matches!(self, Step::Run { operation: Operation::Select, .. })
    }

    /// The phase of a measured transaction.
    pub fn phase(&self) -> Option<usize> {
        match self {
            Step::Run { phase, .. } => Some(*phase),
            _ => None,
        }
    }
}

/// Rows of the tables, as numbers of their values. Rows are inserted at the end and deleted at the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    /// By table; `None` until it is made.
    pub tables: Vec<Option<Table>>,
}

/// Rows of one table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Number of the first row.
    pub first: i64,
    /// Numbers of the values, from the first row on.
    pub values: VecDeque<u64>,
}

impl Rows {
    /// Applies a transaction.
    ///
    /// # Panics
    /// If the transaction belongs to another plan.
    pub fn apply(&mut self, step: &Step) {
        match *step {
            Step::Create { table } => {
                self.tables.resize(self.tables.len().max(table + 1), None);
                self.tables[table] = Some(Table { first: 1, values: VecDeque::new() });
            }
            Step::Fill { table, rows, value } => {
                self.table(table).values.extend((0..u64::from(rows)).map(|i| value + i));
            }
            Step::Run { operation, table, row, value, .. } => {
                let table = self.table(table);
                match operation {
                    Operation::Insert => table.values.push_back(value),
                    Operation::Update => table.values[(row - table.first) as usize] = value,
                    Operation::Delete => {
                        table.values.pop_front();
                        table.first += 1;
                    }
                    Operation::Select => {}
                }
            }
        }
    }

    fn table(&mut self, table: usize) -> &mut Table {
        self.tables[table].as_mut().expect("a plan makes its tables first")
    }
}

/// The transactions of a workload in their order.
#[derive(Clone, Debug)]
pub struct Plan {
    spec: SqliteSpec,
    rng: Rng,
    rows: Rows,
    /// Remaining steps of the fill, the next one last.
    setup: Vec<Step>,
    phase: usize,
    done: u32,
    next_value: u64,
}

impl Plan {
    /// The plan of a workload.
    pub fn new(spec: &SqliteSpec) -> Plan {
        let mut plan = Plan {
            spec: spec.clone(),
            rng: named_stream(spec.seed, "sqlite rows", 0),
            rows: Rows::default(),
            setup: Vec::new(),
            phase: 0,
            done: 0,
            next_value: 0,
        };
        plan.setup.extend((0..spec.tables as usize).map(|table| Step::Create { table }));
        for table in 0..spec.tables as usize {
            let mut left = spec.fill_rows;
            while left > 0 {
                let rows = left.min(FILL_ROWS);
                plan.setup.push(Step::Fill { table, rows, value: plan.next_value });
                plan.next_value += u64::from(rows);
                left -= rows;
            }
        }
        plan.setup.reverse();
        plan
    }

    fn run(&mut self) -> Option<Step> {
        let operation = self.spec.operations.get(self.phase).copied()?;
        let tables = self.spec.tables as usize;
        // A delete takes the next table that has rows, because an earlier phase may have emptied some.
        let has_rows = |table: &usize| self.rows.tables[*table].as_ref().is_some_and(|t| !t.values.is_empty());
        let order = (0..tables).map(|i| (self.done as usize + i) % tables);
        let table = order.into_iter().find(|table| operation == Operation::Insert || has_rows(table))?;
        let rows = self.rows.table(table);
        let row = match operation {
            Operation::Insert => rows.first + rows.values.len() as i64,
            Operation::Delete => rows.first,
            Operation::Update | Operation::Select => rows.first + self.rng.below(rows.values.len() as u64) as i64,
        };
        let step = Step::Run { operation, phase: self.phase, table, row, value: self.next_value };
        self.next_value += 1;
        self.done += 1;
        if self.done == self.spec.transactions {
            (self.phase, self.done) = (self.phase + 1, 0);
        }
        Some(step)
    }
}

impl Iterator for Plan {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.setup.pop().or_else(|| self.run())?;
        self.rows.apply(&step);
        Some(step)
    }
}

/// The text of a value.
pub fn text_of(spec: &SqliteSpec, value: u64) -> String {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let mut rng = named_stream(spec.seed, "sqlite value", value);
    (0..spec.value_bytes).map(|_| char::from(LETTERS[rng.below(64) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_fills_and_then_runs_each_operation() {
        let spec = SqliteSpec { tables: 2, fill_rows: 600, transactions: 5, ..SqliteSpec::default() };
        let steps: Vec<Step> = Plan::new(&spec).collect();
        assert_eq!(steps.len(), 2 + 4 + 20);
        assert_eq!(steps[1], Step::Create { table: 1 });
        assert_eq!(steps[3], Step::Fill { table: 0, rows: 100, value: 500 });
        let run = |operation, phase, table, row, value| Step::Run { operation, phase, table, row, value };
        assert_eq!(steps[7], run(Operation::Insert, 0, 1, 601, 1201));
        let deleted = |step: &Step| match *step {
            Step::Run { operation: Operation::Delete, table, row, .. } => Some((table, row)),
            _ => None,
        };
        let deleted: Vec<(usize, i64)> = steps.iter().filter_map(deleted).collect();
        assert_eq!(deleted, [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3)]);
        let mut rows = Rows::default();
        steps.iter().for_each(|step| rows.apply(step));
        let lengths: Vec<usize> = rows.tables.iter().flatten().map(|table| table.values.len()).collect();
        assert_eq!(lengths, [600, 600]);
    }

    #[test]
    fn values_differ_by_seed_and_number_and_have_their_length() {
        let spec = SqliteSpec::default();
        let other = SqliteSpec { seed: 2, ..SqliteSpec::default() };
        assert_eq!(text_of(&spec, 7), text_of(&spec, 7));
        assert!(text_of(&spec, 7) != text_of(&spec, 8) && text_of(&spec, 7) != text_of(&other, 7));
        assert_eq!(text_of(&spec, 7).len(), 100);
    }
}
