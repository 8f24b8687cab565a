//! A value that most operations never have.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// An `Option` whose destructor costs one comparison where there is nothing to
/// drop: the compiler calls that of a plain `Option` out of line.
pub(crate) struct Seldom<T>(ManuallyDrop<Option<T>>);

impl<T> Seldom<T> {
    #[inline]
    pub(crate) const fn new(value: Option<T>) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Drop for Seldom<T> {
    #[inline]
    fn drop(&mut self) {
        if self.is_some() {
            drop_value(self);
        }
    }
}

#[cold]
fn drop_value<T>(seldom: &mut Seldom<T>) {
    drop(seldom.take());
}

impl<T> Deref for Seldom<T> {
    type Target = Option<T>;

    #[inline]
    fn deref(&self) -> &Option<T> {
        &self.0
    }
}

impl<T> DerefMut for Seldom<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Option<T> {
        &mut self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Seldom<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn a_value_is_dropped_once() {
        let value = Rc::new(());
        drop(Seldom::new(Some(Rc::clone(&value))));
        let mut replaced = Seldom::new(None);
        *replaced = Some(Rc::clone(&value));
        *replaced = None;
        assert_eq!(Rc::strong_count(&value), 1);
        drop(replaced);
        assert_eq!(Rc::strong_count(&value), 1);
    }
}
