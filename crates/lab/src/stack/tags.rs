//! What is under way on the link, by tag.

use ufs::Tag;

/// At most one item for each tag.
#[derive(Debug)]
pub struct ByTag<T> {
    items: Vec<Option<T>>,
}

impl<T> Default for ByTag<T> {
    fn default() -> Self {
        ByTag { items: (0..=u8::MAX).map(|_| None).collect() }
    }
}

impl<T> ByTag<T> {
    /// Adds an item.
    ///
    /// # Panics
    /// If the tag has one already.
    #[inline]
    pub fn put(&mut self, tag: Tag, item: T) {
        let place = &mut self.items[usize::from(tag.0)];
        // Asked first, so that there is nothing to drop.
        assert!(place.is_none(), "tag {} is in use twice", tag.0);
        *place = Some(item);
    }

    /// The item of a tag.
    ///
    /// # Panics
    /// If it has none.
    pub fn get(&self, tag: Tag) -> &T {
        let Some(item) = &self.items[usize::from(tag.0)] else { missing(tag) };
        item
    }

    /// Takes the item of a tag.
    ///
    /// # Panics
    /// If it has none.
    #[inline]
    pub fn take(&mut self, tag: Tag) -> T {
        let Some(item) = self.items[usize::from(tag.0)].take() else { missing(tag) };
        item
    }
}

#[cold]
fn missing(tag: Tag) -> ! {
    panic!("nothing is under way with tag {}", tag.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_taken_once() {
        let mut items = ByTag::default();
        items.put(Tag(3), "three");
        assert_eq!(items.get(Tag(3)), &"three");
        assert_eq!(items.take(Tag(3)), "three");
        items.put(Tag(3), "again");
        assert_eq!(items.take(Tag(3)), "again");
    }

    #[test]
    #[should_panic(expected = "nothing is under way with tag 7")]
    fn nothing_is_taken_twice() {
        let mut items = ByTag::default();
        items.put(Tag(7), ());
        items.take(Tag(7));
        items.take(Tag(7));
    }

    #[test]
    #[should_panic(expected = "tag 9 is in use twice")]
    fn a_tag_names_one_item() {
        let mut items = ByTag::default();
        items.put(Tag(9), ());
        items.put(Tag(9), ());
    }
}
