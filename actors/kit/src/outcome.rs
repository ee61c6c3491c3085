//! The outcome of a call, as its reply says it: an error of the interface is the `Err` of the method's `Result`. Found by a
//! serializer that looks at the first two names and writes nothing.

use crate::tally::Outcome;
use serde::ser::{Impossible, Serialize, Serializer};
use std::fmt;
use tarpc::ServerError;

/// The outcome that a reply stands for.
pub(crate) fn of<T: Serialize>(reply: &Result<T, ServerError>) -> Outcome {
    match reply {
        Ok(reply) if !is_error(reply) => Outcome::Answered,
        _ => Outcome::Failed,
    }
}

/// Returns true if a reply, a variant for its method, holds an `Err`.
fn is_error<T: Serialize>(reply: &T) -> bool {
    reply.serialize(Look { inner: false }).is_err_and(|found| found.error)
}

/// The end of the look.
#[derive(Debug)]
struct Found {
    error: bool,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the look is over")
    }
}

impl std::error::Error for Found {}

impl serde::ser::Error for Found {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self { error: false }
    }
}

/// Looks at the variant of the method, then at that of its result.
struct Look {
    inner: bool,
}

type Looked = Result<(), Found>;
const NO: Looked = Err(Found { error: false });
type Never = Impossible<(), Found>;

macro_rules! plain {
    ($($name:ident: $type:ty,)+) => {
        $(fn $name(self, _: $type) -> Looked { NO })+
    };
}

impl Serializer for Look {
    type Ok = ();
    type Error = Found;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    plain! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_str: &str,
        serialize_bytes: &[u8],
        serialize_unit_struct: &'static str,
    }

    fn serialize_none(self) -> Looked {
        NO
    }

    fn serialize_some<T: ?Sized + Serialize>(self, _: &T) -> Looked {
        NO
    }

    fn serialize_unit(self) -> Looked {
        NO
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Looked {
        NO
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, _: &T) -> Looked {
        NO
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Looked {
        if self.inner {
            return Err(Found { error: name == "Result" && variant == "Err" });
        }
        value.serialize(Self { inner: true })
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Never, Found> {
        Err(Found { error: false })
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, Found> {
        Err(Found { error: false })
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, Found> {
        Err(Found { error: false })
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Found> {
        Err(Found { error: false })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Never, Found> {
        Err(Found { error: false })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Never, Found> {
        Err(Found { error: false })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Found> {
        Err(Found { error: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::router::{RouterError, RouterResponse};
    use std::io::ErrorKind;

    #[test]
    fn an_error_of_the_interface_or_the_bus_is_a_failed_call() {
        let failed = [
            Ok(RouterResponse::RemoveWorkspace(Err(RouterError::NoUser))),
            Err(ServerError::new(ErrorKind::Other, String::new())),
        ];
        let answered = [
            Ok(RouterResponse::RemoveWorkspace(Ok(()))),
            Ok(RouterResponse::Events(ipc_proto::List::default())),
        ];
        assert!(failed.iter().all(|reply| of(reply) == Outcome::Failed));
        assert!(answered.iter().all(|reply| of(reply) == Outcome::Answered));
    }
}
