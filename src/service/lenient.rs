//! Values that a service may write in more than one way.

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use std::{fmt, marker::PhantomData};

/// A value of any type, which can be read as a flag, a number or a text.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum Lenient {
    /// Absent or `null`.
    #[default]
    Missing,
    /// `true` or `false`.
    Bool(bool),
    /// A number, without its fraction.
    Number(i64),
    /// A text.
    Text(String),
    /// An array or an object.
    Other,
}

impl Lenient {
    /// Returns whether the value is missing.
    pub(super) fn is_missing(&self) -> bool {
        *self == Self::Missing
    }

    /// Returns the value as a flag.
    pub(super) fn flag(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            Self::Number(number) => Some(*number != 0),
            Self::Text(text) => match text.as_str() {
                "1" | "true" => Some(true),
                "0" | "false" | "" => Some(false),
                _ => None,
            },
            Self::Missing | Self::Other => None,
        }
    }

    /// Returns the value as a number; 0 if it is none.
    pub(super) fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.trim().parse().unwrap_or(0),
            Self::Missing | Self::Bool(_) | Self::Other => 0,
        }
    }

    /// Returns the value as a text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Missing | Self::Bool(_) | Self::Number(_) | Self::Other => None,
        }
    }
}

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Lenient;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Lenient, E> {
                Ok(Lenient::Bool(flag))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Lenient, E> {
                Ok(Lenient::Number(number))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Lenient, E> {
                Ok(Lenient::Number(i64::try_from(number).unwrap_or(i64::MAX)))
            }

            #[expect(
                clippy::cast_possible_truncation,
                reason = "a figure without its fraction is meant, and the cast saturates"
            )]
            fn visit_f64<E>(self, number: f64) -> Result<Lenient, E> {
                Ok(Lenient::Number(number as i64))
            }

            fn visit_str<E>(self, text: &str) -> Result<Lenient, E> {
                Ok(Lenient::Text(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Lenient, E> {
                Ok(Lenient::Missing)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Lenient, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Lenient::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lenient, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Lenient::Other)
            }
        }
        from.deserialize_any(Any)
    }
}

/// An object, alone or as the only entry of an array.
pub(super) struct One<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = One<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object, or an array with one")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<One<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<One<T>, A::Error> {
                let first = seq
                    .next_element()?
                    .ok_or_else(|| de::Error::invalid_length(0, &self))?;
                let mut count = 1;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                if count == 1 {
                    Ok(One(first))
                } else {
                    Err(de::Error::invalid_length(count, &self))
                }
            }
        }
        from.deserialize_any(Either(PhantomData))
    }
}

/// A field that is absent, `null` or given: three different cases. For fields with `default`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Presence<T> {
    /// The key is absent.
    #[default]
    Absent,
    /// The key is there, and its value is `null`.
    Null,
    /// The key has a value.
    Given(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Presence<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::<T>::deserialize(from).map(|value| value.map_or(Self::Null, Self::Given))
    }
}
