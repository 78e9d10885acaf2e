//! Something that will be told, or never will be.

/// Who is told: the value, or nothing if it never comes.
type Then<T> = Box<dyn FnOnce(Option<T>) + Send>;

/// Somebody waits for a value. If the promise is dropped, because what was to make the value is gone, they learn that.
pub struct Promise<T>(Option<Then<T>>);

impl<T> Promise<T> {
    /// A promise to whoever is told.
    pub fn new(then: impl FnOnce(Option<T>) + Send + 'static) -> Promise<T> {
        Promise(Some(Box::new(then)))
    }

    /// Keeps it.
    pub fn keep(mut self, value: T) {
        if let Some(then) = self.0.take() {
            then(Some(value));
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then(None);
        }
    }
}
