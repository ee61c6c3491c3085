//! When a rule is needed that a day of the host may go by without. The list is closed: each of them is made to hold by a
//! test of real processes (`tests/security/rare.rs`), which fails for a rule that was not needed then.

macro_rules! conditions {
    ($($name:ident: $says:literal,)*) => {
        /// A condition that does not hold on every day, or not in every process.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Condition {
            $(#[doc = $says] $name,)*
        }

        impl Condition {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The condition in words.
            #[must_use]
            pub const fn says(self) -> &'static str {
                match self {
                    $(Self::$name => $says,)*
                }
            }
        }
    };
}

conditions! {
    OfSome: "a day needs it in some of the processes that have it, and not in all",
    Aborts: "a process panics, and ends itself by abort",
    Faults: "a process reaches for memory that is not its own, which std tells from a stack that overflows",
    LargeBlock: "a block of memory is above what the C library keeps in its heap, and grows",
    NoVdso: "a clock that is not read without a call, as in some virtual machines",
    OtherLibrary: "the C library that was linked makes one of two calls of it: before 2.33 and from 2.39 \
        on `fstat`, between them `newfstatat`",
    PlainService: "a secret is for a service on this machine that speaks no TLS",
    ListensOnTcp: "the API is served over TCP, as it is only where it is configured",
    NameServer: "a name is looked up that /etc/hosts does not have",
    Ipv6: "a service or a name server has an address of IPv6",
    TileFilled: "a tile of the record is full, so that what there was of it in part goes",
    WriteTorn: "the record is read while its last entry is not wholly written",
    TornAndStopped: "the same, and the process is stopped while it waits for the rest, as for a copy of the state",
    Stopped: "a program is stopped while it waits for a time, as for a copy of the state, and goes on",
    Attributes: "a program keeps attributes of files, or their owners",
    Copies: "a program has the kernel copy files, pipes and descriptors",
    Folders: "a program names files by the folder that it has open",
    Locks: "a program locks files",
    Loopback: "a program speaks IPv6, asks for routes, or sets what is seldom set of a connection",
    Memory: "a program shares memory with files or others, or keeps it from being written to a disk",
    Names: "a program asks or sets what is seldom asked of itself",
    OlderCalls: "a program was built with another C library or none, or for an older or a newer one, which \
        make other calls of the same",
    Pairs: "a program looks at a pair of sockets of its own",
    Parts: "a program writes and reads several pieces at once, or in the middle of a file",
    ProtectionKeys: "a program looks for the processor's protection keys, as node does",
    Relatives: "a program asks whose child and in which group it is, and what it has used",
    Room: "a program sets room aside, cuts a file, or has it written out",
    Shares: "a program asks for its share of the processor, or lowers it",
    Signals: "a program queues signals, or waits for one",
    Terminals: "a program asks for the settings of a terminal, or makes one",
    Timers: "a program has timers, or asks for the time that it has used",
    Watches: "a program waits for files and descriptors in one of the seldom ways",
}
