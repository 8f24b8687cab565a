//! A caller of edition 2021; its tests are all there is.
