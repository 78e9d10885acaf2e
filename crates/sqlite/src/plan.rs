//! The transactions of a workload, and the content of the tables after each.

use std::collections::BTreeMap;

use workload::{Rng, named_stream};

use crate::spec::{JournalMode, Operation, SqliteSpec};

/// Most rows that one transaction of the fill inserts.
const FILL_ROWS: u32 = 500;

/// One transaction, or what a program does around its transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A new program opens one database by itself; what was open is closed.
    Open {
        /// Its number.
        database: usize,
    },
    /// The other databases are attached to the one that is open.
    Attach,
    /// Makes a table.
    Create {
        /// Its number, over all databases.
        table: usize,
    },
    /// Removes a table.
    Drop {
        /// Its number.
        table: usize,
    },
    /// Counts the rows of a table, for which it reads all of them.
    Count {
        /// Its number.
        table: usize,
    },
    /// Inserts rows before anything is measured.
    Fill {
        /// Number of the table.
        table: usize,
        /// Number of rows.
        rows: u32,
        /// Number of the first row; the others follow.
        row: i64,
        /// Number of the first value; the others follow.
        value: u64,
    },
    /// A measured transaction.
    Run {
        /// Kind of the transaction.
        operation: Operation,
        /// Number of the phase: the programs of the first operation come first, each of them a phase.
        phase: usize,
        /// Its statements.
        statements: Vec<Statement>,
    },
    /// A checkpoint of each write-ahead log.
    Checkpoint,
    /// The program ends, and removes the databases.
    Remove,
}

/// A statement of a measured transaction, about one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Number of the table.
    pub table: usize,
    /// Number of the row.
    pub row: i64,
    /// Number of the value that it writes.
    pub value: u64,
}

impl Step {
    /// True for a transaction that does not only read.
    pub fn writes(&self) -> bool {
        match self {
            Step::Create { .. } | Step::Drop { .. } | Step::Fill { .. } => true,
            Step::Run { operation, .. } => *operation != Operation::Select,
            Step::Open { .. } | Step::Attach | Step::Count { .. } | Step::Checkpoint | Step::Remove => false,
        }
    }

    /// The phase of a measured transaction.
    pub fn phase(&self) -> Option<usize> {
        match self {
            Step::Run { phase, .. } => Some(*phase),
            _ => None,
        }
    }
}

/// Rows of the tables, as numbers of their values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    /// By table; `None` while there is none.
    pub tables: Vec<Option<Table>>,
}

/// Rows of one table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// Number of the row that is inserted next.
    next: i64,
    /// Numbers of the values by row.
    pub values: BTreeMap<i64, u64>,
}

impl Table {
    fn insert(&mut self, value: u64) {
        self.values.insert(self.next, value);
        self.next += 1;
    }
}

impl Rows {
    /// Applies a transaction. `first` is the number of a table's first row.
    ///
    /// # Panics
    /// If the transaction belongs to another plan.
    pub fn apply(&mut self, step: &Step, first: i64) {
        match step {
            &Step::Create { table } => {
                self.tables.resize(self.tables.len().max(table + 1), None);
                self.tables[table] = Some(Table { next: first, ..Table::default() });
            }
            &Step::Drop { table } => self.tables[table] = None,
            &Step::Fill { table, rows, value, .. } => {
                (0..u64::from(rows)).for_each(|i| self.table(table).insert(value + i));
            }
            Step::Run { operation, statements, .. } => {
                for &Statement { table, row, value } in statements {
                    let table = self.table(table);
                    match operation {
                        Operation::Insert => table.insert(value),
                        Operation::Update => drop(table.values.insert(row, value)),
                        Operation::Delete => drop(table.values.remove(&row)),
                        Operation::Select => {}
                    }
                }
            }
            Step::Open { .. } | Step::Attach | Step::Count { .. } | Step::Checkpoint | Step::Remove => {}
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
    /// Steps before the next transaction, the next one last.
    before: Vec<Step>,
    /// False while the program of the present phase has not begun.
    begun: bool,
    phase: usize,
    done: u32,
    next_value: u64,
    /// Rows that the programs' deletes have still to take, by database.
    left: Vec<Vec<i64>>,
}

impl Plan {
    /// The plan of a workload.
    pub fn new(spec: &SqliteSpec) -> Plan {
        let mut plan = Plan {
            spec: spec.clone(),
            rng: named_stream(spec.seed, "sqlite rows", 0),
            rows: Rows::default(),
            before: Vec::new(),
            begun: spec.programs == 0,
            phase: 0,
            done: 0,
            next_value: 0,
            left: Vec::new(),
        };
        if spec.programs == 0 {
            let mut steps: Vec<Step> = (0..spec.all_tables()).map(|table| Step::Create { table }).collect();
            (0..spec.all_tables()).for_each(|table| plan.fill(table, 0, &mut steps));
            plan.before = reversed(steps);
        }
        plan
    }

    /// Rows for a table that has `there` already, in transactions of some hundred.
    fn fill(&mut self, table: usize, mut there: u32, steps: &mut Vec<Step>) {
        while there < self.spec.fill_rows {
            let rows = (self.spec.fill_rows - there).min(FILL_ROWS);
            let row = self.spec.first_row() + i64::from(there);
            steps.push(Step::Fill { table, rows, row, value: self.next_value });
            self.next_value += u64::from(rows);
            there += rows;
        }
    }

    /// What a program of Mobibench does before its first measured transaction: it opens every database by itself.
    /// INSERT makes the tables anew; the others count the rows of what is there, and fill up. The main one is opened
    /// last, as its connection is the one that goes on.
    fn begin(&mut self) {
        self.begun = true;
        let Some(operation) = self.operation() else { return };
        let mut steps = Vec::new();
        let tables = self.spec.tables as usize;
        for database in (0..self.spec.databases as usize).rev() {
            steps.push(Step::Open { database });
            for table in database * tables..(database + 1) * tables {
                let there = self.rows.tables.get(table).and_then(Option::as_ref).map(|table| table.values.len());
                let makes = there.is_none() || operation == Operation::Insert;
                if makes && there.is_some() {
                    steps.push(Step::Drop { table });
                }
                if makes {
                    steps.push(Step::Create { table });
                }
                if operation != Operation::Insert {
                    steps.push(Step::Count { table });
                    self.fill(table, there.unwrap_or(0) as u32, &mut steps);
                }
            }
        }
        steps.push(Step::Attach);
        self.before = reversed(steps);
    }

    /// What a program does after its last measured transaction.
    fn end(&mut self, operation: Operation) {
        let mut steps = Vec::new();
        if self.spec.journal_mode == JournalMode::Wal {
            steps.push(Step::Checkpoint);
        }
        if operation == Operation::Delete {
            steps.extend((0..self.spec.all_tables()).map(|table| Step::Drop { table }));
            steps.push(Step::Remove);
        }
        (self.before, self.begun) = (reversed(steps), false);
    }

    /// The operation of the present phase.
    fn operation(&self) -> Option<Operation> {
        self.spec.operations.get(self.phase / self.spec.programs.max(1) as usize).copied()
    }

    fn run(&mut self) -> Option<Step> {
        let operation = self.operation()?;
        let statements =
            if self.spec.programs == 0 { vec![self.one(operation)?] } else { self.in_every_table(operation) };
        let step = Step::Run { operation, phase: self.phase, statements };
        self.done += 1;
        if self.done == self.spec.transactions {
            (self.phase, self.done) = (self.phase + 1, 0);
        }
        Some(step)
    }

    /// A statement about the next table.
    fn one(&mut self, operation: Operation) -> Option<Statement> {
        let tables = self.spec.all_tables();
        // A delete takes the next table that has rows, because an earlier phase may have emptied some.
        let has_rows = |table: &usize| self.rows.tables[*table].as_ref().is_some_and(|t| !t.values.is_empty());
        let order = (0..tables).map(|i| (self.done as usize + i) % tables);
        let table = order.into_iter().find(|table| operation == Operation::Insert || has_rows(table))?;
        let row = match operation {
            Operation::Insert => self.rows.table(table).next,
            Operation::Delete => self.first_of(table),
            Operation::Update | Operation::Select => self.any_of(table),
        };
        Some(self.statement(table, row))
    }

    /// A statement about every table. INSERT takes the next key; UPDATE and SELECT take any, for each table another;
    /// DELETE takes one that is left, the same in all tables of a database.
    fn in_every_table(&mut self, operation: Operation) -> Vec<Statement> {
        let tables = self.spec.tables as usize;
        if operation == Operation::Delete && self.done == 0 {
            let keys =
                |database: usize| self.rows.tables[database * tables].iter().flat_map(|t| t.values.keys().copied());
            self.left = (0..self.spec.databases as usize).map(|database| keys(database).collect()).collect();
        }
        let mut deleted = 0;
        let mut row = |plan: &mut Plan, table: usize| match operation {
            Operation::Insert => plan.rows.table(table).next,
            Operation::Update | Operation::Select => plan.any_of(table),
            Operation::Delete => {
                if table.is_multiple_of(tables) {
                    let left = &mut plan.left[table / tables];
                    deleted = left.swap_remove(plan.rng.below(left.len() as u64) as usize);
                }
                deleted
            }
        };
        let mut statements = Vec::with_capacity(self.spec.all_tables());
        for table in 0..self.spec.all_tables() {
            let row = row(self, table);
            statements.push(self.statement(table, row));
        }
        statements
    }

    fn statement(&mut self, table: usize, row: i64) -> Statement {
        let value = self.next_value;
        self.next_value += 1;
        Statement { table, row, value }
    }

    fn first_of(&mut self, table: usize) -> i64 {
        *self.rows.table(table).values.first_key_value().expect("a table with rows").0
    }

    /// Any row of a table whose rows have neighbouring numbers.
    fn any_of(&mut self, table: usize) -> i64 {
        let rows = self.rows.table(table).values.len() as u64;
        self.first_of(table) + self.rng.below(rows) as i64
    }
}

impl Iterator for Plan {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.before.is_empty() && !self.begun {
            self.begin();
        }
        let step = self.before.pop().or_else(|| self.run())?;
        self.rows.apply(&step, self.spec.first_row());
        if let Step::Run { operation, .. } = step
            && self.spec.programs > 0
            && self.done == 0
        {
            self.end(operation);
        }
        Some(step)
    }
}

fn reversed(mut steps: Vec<Step>) -> Vec<Step> {
    steps.reverse();
    steps
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
        assert_eq!(steps[3], Step::Fill { table: 0, rows: 100, row: 501, value: 500 });
        let run = |operation, phase, table, row, value| {
            let statements = vec![Statement { table, row, value }];
            Step::Run { operation, phase, statements }
        };
        assert_eq!(steps[7], run(Operation::Insert, 0, 1, 601, 1201));
        let deleted = |step: &Step| match step {
            Step::Run { operation: Operation::Delete, statements, .. } => {
                Some((statements[0].table, statements[0].row))
            }
            _ => None,
        };
        let deleted: Vec<(usize, i64)> = steps.iter().filter_map(deleted).collect();
        assert_eq!(deleted, [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3)]);
        let mut rows = Rows::default();
        steps.iter().for_each(|step| rows.apply(step, 1));
        let lengths: Vec<usize> = rows.tables.iter().flatten().map(|table| table.values.len()).collect();
        assert_eq!(lengths, [600, 600]);
    }

    /// What Mobibench's published programs do: three databases of three tables, one row in each by a transaction.
    #[test]
    fn programs_begin_with_their_tables_and_write_a_row_in_each() {
        use Operation::{Delete, Insert, Update};
        let spec = SqliteSpec {
            operations: vec![Insert, Update, Delete],
            programs: 2,
            databases: 3,
            tables: 3,
            fill_rows: 5,
            transactions: 5,
            ..SqliteSpec::default()
        };
        let steps: Vec<Step> = Plan::new(&spec).collect();
        let opened = |step: &Step| if let Step::Open { database } = step { Some(*database) } else { None };
        let opened: Vec<usize> = steps.iter().filter_map(opened).collect();
        assert_eq!(opened, [2, 1, 0].repeat(6), "by each program, the main one last");
        let rows_of = |wanted: Operation, of_phase: usize| -> Vec<Vec<i64>> {
            let rows = |step: &Step| match step {
                Step::Run { operation, phase, statements } if *operation == wanted && *phase == of_phase => {
                    assert!((0..9).eq(statements.iter().map(|statement| statement.table)));
                    Some(statements.iter().map(|statement| statement.row).collect())
                }
                _ => None,
            };
            steps.iter().filter_map(rows).collect()
        };
        for phase in [0, 1] {
            assert_eq!(rows_of(Insert, phase), (0..5).map(|row| vec![row; 9]).collect::<Vec<_>>());
        }
        assert!(rows_of(Update, 2).concat().iter().all(|row| (0..5).contains(row)));
        let deleted = rows_of(Delete, 5);
        for database in 0..3 {
            let keys: Vec<&[i64]> = deleted.iter().map(|rows| &rows[3 * database..3 * database + 3]).collect();
            assert!(keys.iter().all(|keys| keys.iter().all(|key| *key == keys[0])), "the same in all of its tables");
            let mut once: Vec<i64> = keys.iter().map(|keys| keys[0]).collect();
            once.sort_unstable();
            assert_eq!(once, [0, 1, 2, 3, 4], "none twice");
        }
        let count = |wanted: fn(&Step) -> bool| steps.iter().filter(|step| wanted(step)).count();
        // The second INSERT makes its tables anew. DELETE ends without, so the next one fills new ones.
        assert_eq!(count(|step| matches!(step, Step::Drop { .. })), 9 + 2 * 9);
        assert_eq!(count(|step| matches!(step, Step::Create { .. })), 2 * 9 + 9);
        assert_eq!(count(|step| matches!(step, Step::Fill { .. })), 9);
        assert_eq!(count(|step| matches!(step, Step::Remove)), 2);
        assert_eq!(count(|step| matches!(step, Step::Checkpoint)), 0, "there is no write-ahead log");
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
