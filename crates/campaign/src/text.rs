//! The text form of a case: a seed, then what is left out and broken, for example
//! `17/acts=0-4,9/plain=faults,gc.pace/break=forget-trims`.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use crate::case::{Case, PLAIN, sabotage};
use crate::script::Script;

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.seed)?;
        if let Some(acts) = &self.reduced.acts {
            write!(f, "/acts={}", ranges(acts))?;
        }
        if !self.reduced.plain.is_empty() {
            write!(f, "/plain={}", self.reduced.plain.join(","))?;
        }
        match self.sabotage {
            Some(sabotage) => write!(f, "/break={}", sabotage.name()),
            None => Ok(()),
        }
    }
}

/// `0-4,9` for 0, 1, 2, 3, 4 and 9.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

impl FromStr for Case {
    type Err = String;

    /// # Errors
    /// A message with the part that is wrong, and what would be right.
    fn from_str(text: &str) -> Result<Case, String> {
        let mut parts = text.split('/');
        let seed = parts.next().unwrap_or_default();
        let seed = seed.parse().map_err(|_| wrong(text, &format!("\"{seed}\" is not a seed")))?;
        let mut case = Case::new(seed);
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                "acts" => case.reduced.acts = Some(numbers(value).ok_or_else(|| wrong(text, NUMBERS))?),
                "plain" => case.reduced.plain = value.split(',').map(str::to_owned).collect(),
                "break" => case.sabotage = Some(sabotage(value)?),
                _ => return Err(wrong(text, &format!("\"{key}\" must be one of acts, plain, break"))),
            }
        }
        case.check().map_err(|why| wrong(text, &why))?;
        Ok(case)
    }
}

const NUMBERS: &str = "acts must be numbers and ranges in ascending order, as in 0-4,9";

fn wrong(text: &str, why: &str) -> String {
    format!("case = \"{text}\": {why}")
}

/// More acts than any script has.
const MOST_ACTS: u32 = 1 << 20;

fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last >= MOST_ACTS || first > last || numbers.last().is_some_and(|&before| before >= first) {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

impl Case {
    fn check(&self) -> Result<(), String> {
        let script = Script::of_seed(self.seed);
        let acts = script.acts.len() as u32;
        if let Some(&last) = self.reduced.acts.as_ref().and_then(|kept| kept.last())
            && last >= acts
        {
            return Err(format!("act {last} of a script with {acts} acts"));
        }
        let known = |name: &str| PLAIN.contains(&name) || script.set.iter().any(|(key, _)| *key == name);
        match self.reduced.plain.iter().find(|name| !known(name)) {
            Some(name) => {
                Err(format!("\"{name}\" is neither a key that the case sets nor one of {}", PLAIN.join(", ")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ftl::Sabotage;

    use super::*;
    use crate::case::Reduced;

    #[test]
    fn every_case_comes_back_from_its_text() {
        let plain = vec!["faults".to_owned(), "gc.pace".to_owned()];
        let acts = Some(vec![0, 1, 2, 5, 8, 9]);
        for (case, text) in [
            (Case::new(17), "17"),
            (Case { reduced: Reduced { acts, plain }, ..Case::new(3) }, "3/acts=0-2,5,8-9/plain=faults,gc.pace"),
            (Case { sabotage: Some(Sabotage::TrustTorn), ..Case::new(0) }, "0/break=trust-torn"),
            (Case { reduced: Reduced { acts: Some(vec![]), plain: vec![] }, ..Case::new(4) }, "4/acts="),
        ] {
            assert_eq!(case.to_string(), text);
            assert_eq!(text.parse(), Ok(case));
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, told) in [
            ("x", "\"x\" is not a seed"),
            ("1/acts=3-1", NUMBERS),
            ("1/acts=3,3", NUMBERS),
            ("1/acts=999999", "act 999999 of a script with"),
            ("1/plain=nothing", "\"nothing\" is neither a key"),
            ("1/size=3", "\"size\" must be one of acts, plain, break"),
        ] {
            let error = text.parse::<Case>().expect_err(text);
            assert!(error.starts_with(&format!("case = \"{text}\"")) && error.contains(told), "{error}");
        }
        let error = "1/break=nothing".parse::<Case>().expect_err("no such promise");
        assert!(error.starts_with("sabotage = \"nothing\": must be one of flush-at-once"), "{error}");
    }
}
