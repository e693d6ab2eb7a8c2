// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of any type that are attached to communicators (MPI-5.0, section 7.7).
//!
//! The engine keeps a number under each key; the values lie in a table of this file under those numbers, which are never used
//! twice, so that a value that another thread takes away meanwhile is not there and nothing worse.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use engine::Result;
use engine::attr::{CopyFunction, Keyval};

use crate::Communicator;
use crate::threads::Threads;

type Value = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
struct Table {
    values: HashMap<usize, Value>,
    last_number: usize,
    last_key: i32,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

fn with<R>(action: impl FnOnce(&mut Table) -> R) -> R {
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    action(table.get_or_insert_default())
}

fn keep(value: Value) -> usize {
    with(|table| {
        table.last_number += 1;
        table.values.insert(table.last_number, value);
        table.last_number
    })
}

fn find<V: Send + Sync + 'static>(number: usize) -> Option<Arc<V>> {
    let value = with(|table| table.values.get(&number).cloned())?;
    value.downcast().ok()
}

/// A key under which communicators can carry a value of type `V`. Each key made is a different one; a library keeps its own in a
/// `LazyLock`.
///
/// ```
/// use std::sync::LazyLock;
/// use rankpoint::AttributeKey;
///
/// static STEPS: LazyLock<AttributeKey<Vec<u32>>> = LazyLock::new(AttributeKey::copied);
///
/// # let universe = rankpoint::Universe::init()?;
/// let world = universe.world();
/// world.set_attribute(&STEPS, vec![1, 2])?;
/// assert_eq!(world.attribute(&STEPS).as_deref(), Some(&vec![1, 2]));
/// let copy = world.duplicate()?;
/// world.remove_attribute(&STEPS)?;
/// assert_eq!(copy.attribute(&STEPS).as_deref(), Some(&vec![1, 2]));
/// # Ok::<(), rankpoint::Error>(())
/// ```
///
/// The type of the value belongs to the key:
///
/// ```compile_fail
/// # let universe = rankpoint::Universe::init()?;
/// let key = rankpoint::AttributeKey::<u32>::new();
/// universe.world().set_attribute(&key, "text")?;
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub struct AttributeKey<V> {
    keyval: Arc<Keyval>,
    value: PhantomData<fn() -> V>,
}

impl<V: Send + Sync + 'static> AttributeKey<V> {
    /// A key whose values stay with their communicator: duplicates have none (MPI_Comm_create_keyval).
    #[expect(
        clippy::new_without_default,
        reason = "each key made is a different one"
    )]
    pub fn new() -> Self {
        Self::with_copy(None)
    }

    /// A key of whose values duplicates get a clone.
    pub fn copied() -> Self
    where
        V: Clone,
    {
        Self::copied_by(|value| Some(value.clone()))
    }

    /// A key of whose values duplicates get what the function makes of them, or none.
    pub fn copied_by(copy: impl Fn(&V) -> Option<V> + Send + Sync + 'static) -> Self {
        Self::with_copy(Some(Box::new(move |_, number| {
            // No lock is held while the program's function runs.
            let copied = find::<V>(number).and_then(|value| copy(&value));
            Ok(copied.map(|value| keep(Arc::new(value))))
        })))
    }

    fn with_copy(copy: Option<Box<CopyFunction>>) -> Self {
        let keyval = Keyval {
            number: with(|table| {
                table.last_key += 1;
                table.last_key
            }),
            copy,
            delete: Some(Box::new(|_, number| {
                // The value's own end comes when the lock is free again.
                drop(with(|table| table.values.remove(&number)));
                0
            })),
        };
        Self {
            keyval: Arc::new(keyval),
            value: PhantomData,
        }
    }
}

impl<V> fmt::Debug for AttributeKey<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttributeKey({})", self.keyval.number)
    }
}

impl<T: Threads> Communicator<'_, T> {
    /// Attaches a value to the communicator; one that is there under the key goes away before (MPI_Comm_set_attr).
    ///
    /// Values go away with their communicator, the latest first; those of the world with its
    /// [`Universe`](crate::Universe).
    ///
    /// # Errors
    /// When another thread takes the old value away at the same time; the new one is not attached then.
    pub fn set_attribute<V: Send + Sync + 'static>(
        &self,
        key: &AttributeKey<V>,
        value: V,
    ) -> Result<()> {
        self.run("Communicator::set_attribute", |this| {
            let number = keep(Arc::new(value));
            let set = this.comm().attributes.set(0, &key.keyval, number);
            if set.is_err() {
                drop(with(|table| table.values.remove(&number)));
            }
            set
        })
    }

    /// The value under a key (MPI_Comm_get_attr).
    pub fn attribute<V: Send + Sync + 'static>(&self, key: &AttributeKey<V>) -> Option<Arc<V>> {
        find(self.comm().attributes.get(key.keyval.number)?)
    }

    /// Takes the value under a key away (MPI_Comm_delete_attr).
    ///
    /// # Errors
    /// When there is none.
    pub fn remove_attribute<V: Send + Sync + 'static>(&self, key: &AttributeKey<V>) -> Result<()> {
        self.run("Communicator::remove_attribute", |this| {
            this.comm().attributes.delete(0, key.keyval.number)
        })
    }
}
