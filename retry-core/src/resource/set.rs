//! The resources of a retrier.

use std::sync::Arc;

use super::{Resource, ResourceError};
use crate::stop::UnknownName;

/// Few: they are looked through one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resources {
    all: Vec<Arc<Resource>>,
    default: Option<Arc<Resource>>,
}

impl Resources {
    pub(crate) fn add(&mut self, resource: Resource) -> Result<(), ResourceError> {
        if resource.name.is_empty() {
            return Err(ResourceError::NoName);
        }
        if self.get(&resource.name).is_some() {
            return Err(ResourceError::TwoOfOneName(resource.name));
        }
        self.all.push(Arc::new(resource));
        Ok(())
    }

    pub(crate) fn set_default(&mut self, name: &str) -> Result<(), ResourceError> {
        let Some(resource) = self.get(name) else {
            let mut known: Vec<_> = self.all.iter().map(|known| known.name.clone()).collect();
            known.sort_unstable();
            return Err(ResourceError::Unknown { name: name.into(), known });
        };
        self.default = Some(Arc::clone(resource));
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Resource>> {
        self.all.iter().find(|resource| *resource.name == *name)
    }

    /// What an operation calls that names this resource, or none.
    pub(crate) fn find(
        &self,
        name: Option<&str>,
    ) -> Result<Option<Arc<Resource>>, Arc<UnknownName>> {
        let Some(name) = name else {
            return Ok(self.default.clone());
        };
        let unknown = || Arc::new(UnknownName::new("resource", name, self.names()));
        self.get(name).cloned().map(Some).ok_or_else(unknown)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|resource| resource.name())
    }
}
