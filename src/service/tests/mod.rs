//! The tests of the HTTP side, against a responder that answers from a script.
