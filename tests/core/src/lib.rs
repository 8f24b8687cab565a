//! What the tests of the rules and of the loop share.
