//! The dice of a power cut as choices: every way in which they can fall.

/// Dice that fall as a script says, and beyond its end on 0.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Dice {
    /// What each throw gives, and the number of sides that it had; 0 = not thrown yet.
    throws: Vec<(u32, u32)>,
    next: usize,
}

impl Dice {
    /// A throw with `n` sides.
    pub fn throw(&mut self, n: u32) -> u32 {
        if self.next == self.throws.len() {
            self.throws.push((0, n));
        }
        let (number, sides) = &mut self.throws[self.next];
        assert!(*sides == n, "the dice of a repeated power cut are others: {n} sides, not {sides}");
        self.next += 1;
        *number
    }

    /// The script that comes after this one; `None` after the last.
    pub fn following(mut self) -> Option<Dice> {
        self.next = 0;
        while let Some((number, sides)) = self.throws.pop() {
            if number + 1 < sides {
                self.throws.push((number + 1, sides));
                return Some(self);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_fall_comes_once() {
        // A second throw only if the first gives 2, as for a torn page.
        let outcome = |dice: &mut Dice| match dice.throw(3) {
            2 => 10 + dice.throw(2),
            other => other,
        };
        let mut all = Vec::new();
        let mut script = Some(Dice::default());
        while let Some(mut dice) = script {
            all.push(outcome(&mut dice));
            script = dice.following();
        }
        assert_eq!(all, [0, 1, 10, 11]);
    }
}
