//! `service!`: an interface stated once. It expands to the tarpc trait and to `METHODS`, which says per method
//! its bound, its deadline and whether it may be repeated. The stub, the server and the laws read the same list.

use crate::role::UserRole;
use std::time::Duration;

/// The fixed properties of one method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name, as in the table.
    pub name: &'static str,
    /// The largest frame of a request or a reply, bytes.
    pub bound: usize,
    /// How long a caller waits for the answer.
    pub deadline: Duration,
    /// True if a caller that lost its peer may ask again by itself.
    pub idempotent: bool,
    /// True if a call waits for something to happen, such as the next event: its time says nothing about the callee.
    pub waits: bool,
    /// The least role of a person who may call it; none where processes alone do.
    pub role: Option<UserRole>,
}

/// States an interface: `[idempotent|once, KiB, seconds]` before each method, and the least role of a person who may call it
/// where people do: `[idempotent, 4, 15, User]`. A long poll says so: `[idempotent + wait, 4, 30]`.
macro_rules! service {
    (
        $(#[$outer:meta])*
        pub trait $service:ident {
            $(
                $(#[$inner:meta])*
                [$repeat:ident $(+ $wait:ident)?, $kib:expr, $seconds:expr $(, $role:ident)?]
                async fn $method:ident($($arg:ident: $type:ty),* $(,)?) -> $reply:ty;
            )+
        }
    ) => {
        $(#[$outer])*
        #[tarpc::service]
        pub trait $service {
            $( $(#[$inner])* async fn $method($($arg: $type),*) -> $reply; )+
        }

        /// Bound, deadline and repeatability of every method, in wire order.
        pub const METHODS: &[$crate::Method] = &[
            $( $crate::Method {
                name: stringify!($method),
                bound: $kib * 1024,
                deadline: std::time::Duration::from_secs($seconds),
                idempotent: $crate::service::repeat!($repeat),
                waits: $crate::service::waits!($($wait)?),
                role: $crate::service::role!($($role)?),
            } ),+
        ];

        #[doc = "One constant per method, to call it by."]
        pub mod method {
            $(
                #[doc = concat!("`", stringify!($method), "`: its bound, deadline and repeatability.")]
                #[expect(non_upper_case_globals, reason = "named exactly as the method it describes")]
                pub const $method: $crate::Method = $crate::Method {
                    name: stringify!($method),
                    bound: $kib * 1024,
                    deadline: std::time::Duration::from_secs($seconds),
                    idempotent: $crate::service::repeat!($repeat),
                    waits: $crate::service::waits!($($wait)?),
                    role: $crate::service::role!($($role)?),
                };
            )+
        }

        /// The largest frame of this interface, bytes: a longer one ends the connection before it is read.
        pub const FRAME_BOUND: usize = $crate::service::largest(METHODS);
    };
}

macro_rules! repeat {
    (idempotent) => {
        true
    };
    (once) => {
        false
    };
}

macro_rules! waits {
    () => {
        false
    };
    (wait) => {
        true
    };
}

macro_rules! role {
    () => {
        None
    };
    ($role:ident) => {
        Some($crate::role::UserRole::$role)
    };
}

pub(crate) use {repeat, role, service, waits};

/// The largest bound among `methods`.
pub(crate) const fn largest(methods: &[Method]) -> usize {
    let mut bound = 0;
    let mut rest = methods;
    while let [first, tail @ ..] = rest {
        if first.bound > bound {
            bound = first.bound;
        }
        rest = tail;
    }
    bound
}
