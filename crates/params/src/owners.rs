//! The parameters of everything that is registered in one place.

use toml::{Table, Value};

use crate::{Field, ParamError};

/// Something registered, and its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The name that it is registered by.
    pub name: &'static str,
    /// Its parameters.
    pub fields: Vec<Field>,
}

/// The parameters of everything that is registered in one place. Made by [`owners!`](crate::owners!).
pub trait Owners: Sized {
    /// What is registered, in its order.
    fn owners() -> Vec<Owner>;

    /// Reads the parameters of each from the table that `table` gives for its name. Keys that an owner does not have
    /// are left alone: a table may belong to owners in several places.
    ///
    /// # Errors
    /// Values out of range. `prefix` stands before the owner's name.
    fn read(prefix: &str, table: &dyn Fn(&str) -> Table) -> Result<Self, ParamError>;

    /// Every value of each owner.
    fn values(&self) -> Vec<(&'static str, Table)>;

    /// Every value of one owner.
    fn table_of(&self, owner: &str) -> Table {
        self.values().into_iter().find(|(name, _)| *name == owner).map(|(_, table)| table).unwrap_or_default()
    }

    /// Sets a parameter of `owner`, or of every owner that has it if `owner` is `*`.
    ///
    /// # Errors
    /// If no such owner has it, or the value is out of range.
    fn set(&mut self, owner: &str, key: &str, value: impl Into<Value>) -> Result<(), ParamError> {
        let value = value.into();
        let mut found = false;
        let mut tables = self.values();
        for (name, table) in &mut tables {
            if (owner == "*" || owner == *name) && table.contains_key(key) {
                table.insert(key.into(), value.clone());
                found = true;
            }
        }
        if !found {
            let problem = ": unknown key".into();
            return Err(ParamError { table: owner.into(), key: key.into(), value: Some(value.to_string()), problem });
        }
        let of =
            |name: &str| tables.iter().find(|(owner, _)| *owner == name).map(|(_, t)| t.clone()).unwrap_or_default();
        *self = Self::read("", &of)?;
        Ok(())
    }
}

/// Declares a struct with the parameters of everything that is registered: one line `"name" Field: Params,` each.
#[macro_export]
macro_rules! owners {
    ($(#[doc = $about:literal])* $vis:vis $set:ident { $($name:literal $field:ident: $Params:ty,)+ }) => {
        $(#[doc = $about])*
        #[allow(non_snake_case)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        $vis struct $set {
            $( #[doc = concat!("Of `", $name, "`.")] pub $field: $Params, )+
        }

        impl $crate::Owners for $set {
            fn owners() -> Vec<$crate::Owner> {
                vec![$( $crate::Owner { name: $name, fields: <$Params as $crate::Params>::fields() }, )+]
            }

            fn read(prefix: &str, table: &dyn Fn(&str) -> $crate::Table) -> Result<$set, $crate::ParamError> {
                Ok($set {
                    $( $field: {
                        let fields = <$Params as $crate::Params>::fields();
                        let checked = $crate::check(&format!("{prefix}{}", $name), &table($name), &fields)?;
                        <$Params as $crate::Params>::from_checked(&checked)
                    }, )+
                })
            }

            fn values(&self) -> Vec<(&'static str, $crate::Table)> {
                vec![$( ($name, {
                    let values = $crate::Params::values(&self.$field);
                    values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                }), )+]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::params! {
        /// A.
        AParams {
            /// Size.
            size: count(1 to 8) = 4, "s";
        }
    }
    crate::params! {
        /// B.
        BParams {
            /// Size.
            size: count(1 to 6) = 2, "s";
            /// Depth.
            depth: count(1 to 6) = 2, "s";
        }
    }
    crate::owners! {
        /// Both.
        Both { "a" A: AParams, "b" B: BParams, }
    }

    #[test]
    fn a_star_means_every_owner_that_has_the_key() {
        let mut both = Both::default();
        both.set("*", "size", 5).unwrap();
        both.set("*", "depth", 3).unwrap();
        both.set("a", "size", 8).unwrap();
        assert_eq!((both.A.size, both.B.size, both.B.depth), (8, 5, 3));
        assert_eq!(both.set("*", "size", 7).unwrap_err().to_string(), "b.size = 7: must be 1..=6");
        assert_eq!(both.set("a", "depth", 1).unwrap_err().to_string(), "a.depth = 1: unknown key");
        assert_eq!(both.values()[1].1.len(), 2);
    }

    #[test]
    fn each_reads_its_own_keys() {
        let tables = |name: &str| if name == "b" { "size = 3\nother = 1".parse().unwrap() } else { Table::new() };
        let both = Both::read("scheme.", &tables).unwrap();
        assert_eq!((both.A.size, both.B.size), (4, 3));
        let wrong = |_: &str| "size = 0".parse().unwrap();
        assert_eq!(Both::read("scheme.", &wrong).unwrap_err().to_string(), "scheme.a.size = 0: must be 1..=8");
        assert_eq!(Both::owners()[1].fields.len(), 2);
    }
}
