//! Values as words of a line: the written form of a step of a trace, and its parser.
//!
//! A value is written as the name of its variant and its fields, in order:
//! `Service Post at=alpha/b token=1 shown=true`. A field that has fields of its own is written without its name. A
//! module that uses the macros also imports this module. Files of such lines are in [`super::trace`].

/// The words of a line that are not parsed yet.
pub(crate) type Words<'a> = std::str::SplitWhitespace<'a>;

/// A value that is written as words.
pub(crate) trait Worded: Sized {
    /// Appends the value as the field of that name.
    fn write(&self, field: &str, line: &mut String);

    /// Reads the field of that name; `None`: the next words are something else.
    fn read(field: &str, words: &mut Words<'_>) -> Option<Self>;
}

/// Writes a value as a line of its own.
pub(crate) fn written(value: &impl Worded) -> String {
    let mut line = String::new();
    value.write("", &mut line);
    line.trim_start().to_owned()
}

/// Reads a line that contains only a value.
pub(crate) fn read<T: Worded>(line: &str) -> Option<T> {
    let mut words = line.split_whitespace();
    let value = T::read("", &mut words)?;
    words.next().is_none().then_some(value)
}

/// Appends a field of one word.
pub(crate) fn write_field(field: &str, value: &dyn std::fmt::Display, line: &mut String) {
    line.push(' ');
    line.push_str(field);
    line.push('=');
    line.push_str(&value.to_string());
}

/// Returns the word of a field.
pub(crate) fn read_field<'a>(field: &str, words: &mut Words<'a>) -> Option<&'a str> {
    words.next()?.strip_prefix(field)?.strip_prefix('=')
}

/// Writes types as one word, with their own `Display` and `FromStr`.
macro_rules! one_word {
    ($($type:ty),*) => {$(
        impl Worded for $type {
            fn write(&self, field: &str, line: &mut String) {
                write_field(field, self, line);
            }

            fn read(field: &str, words: &mut Words<'_>) -> Option<Self> {
                read_field(field, words)?.parse().ok()
            }
        }
    )*};
}

one_word!(u8, u16, u32, bool);

/// Defines an enum that is written as the name of its variant and the variant's fields.
macro_rules! variants {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident $({ $($field:ident: $type:ty),* })?,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum $name { $($(#[$vdoc])* $variant $({ $($field: $type),* })?,)* }

        impl wording::Worded for $name {
            fn write(&self, _: &str, line: &mut String) {
                match self {
                    $(Self::$variant { $($($field),*)? } => {
                        line.push_str(concat!(" ", stringify!($variant)));
                        $($(wording::Worded::write($field, stringify!($field), line);)*)?
                    })*
                }
            }

            fn read(_: &str, words: &mut wording::Words<'_>) -> Option<Self> {
                let name = words.next()?;
                $(if name == stringify!($variant) {
                    return Some(Self::$variant {
                        $($($field: wording::Worded::read(stringify!($field), words)?),*)?
                    });
                })*
                None
            }
        }
    };
}

/// Defines an enum without fields, which is written as one word, with a list of all its values.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All values.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),*];
        }

        impl wording::Worded for $name {
            fn write(&self, field: &str, line: &mut String) {
                let word = format!("{self:?}");
                wording::write_field(field, &word, line);
            }

            fn read(field: &str, words: &mut wording::Words<'_>) -> Option<Self> {
                let word = wording::read_field(field, words)?;
                let mut all = Self::ALL.iter().copied();
                all.find(|value| format!("{value:?}") == word)
            }
        }
    };
}

/// Defines a struct of which only the fields that are not plain are written.
macro_rules! settings {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty = $plain:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) struct $name { $($(#[$fdoc])* pub(crate) $field: $type,)* }

        /// All fields plain.
        pub(crate) const PLAIN: $name = $name { $($field: $plain),* };

        impl $name {
            /// Returns the fields that are not plain, as words.
            pub(crate) fn written(&self) -> String {
                let mut line = String::new();
                $(if self.$field != PLAIN.$field {
                    wording::Worded::write(&self.$field, stringify!($field), &mut line);
                })*
                line
            }

            /// Sets the field that a word names; `None`: the word names no field.
            pub(crate) fn set(&mut self, word: &str) -> Option<()> {
                let (field, _) = word.split_once('=')?;
                let words = &mut word.split_whitespace();
                $(if field == stringify!($field) {
                    self.$field = wording::Worded::read(field, words)?;
                    return Some(());
                })*
                None
            }
        }
    };
}

pub(crate) use {settings, variants, words};
