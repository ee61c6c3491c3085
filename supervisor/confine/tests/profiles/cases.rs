//! The cases, made from the table itself: each known call with arguments that no kernel takes, each alternative of each
//! rule with arguments that just fit, and the same with one condition broken.

use manifest::Row;
use manifest::syscalls::{Is, When, calls};

/// One call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) arguments: [u64; 6],
    /// Where the pid of the process itself goes, and by how much it is wrong.
    own: Option<(u8, u32)>,
}

/// A number that no descriptor, pid, length or address is.
const NONE: u64 = u64::MAX;

impl Case {
    /// The call with nothing that means anything.
    pub(crate) const fn bare(name: &'static str) -> Self {
        Self { name, arguments: [NONE; 6], own: None }
    }

    /// The same for the process with this pid.
    pub(crate) fn of(mut self, own: u32) -> Self {
        if let Some((argument, wrong)) = self.own {
            self.arguments[usize::from(argument)] = u64::from(own.wrapping_add(wrong));
        }
        self
    }

    fn set(mut self, argument: u8, value: u64) -> Self {
        self.arguments[usize::from(argument)] = value;
        self
    }

    /// The same so that the condition just holds; what it does not look at stays meaningless.
    fn keeping(mut self, when: &When) -> Self {
        let here = self.arguments[usize::from(when.argument)];
        match when.is {
            Is::Equal(value) => self.set(when.argument, value),
            Is::Without(bits) => self.set(when.argument, here & !bits),
            Is::Bits(of, set) => self.set(when.argument, here & !of | set),
            Is::OwnPid => {
                self.own = Some((when.argument, 0));
                self
            }
        }
    }

    /// The same with the condition broken, in each way that differs by one bit.
    fn breaking(self, when: &When) -> Vec<Self> {
        let here = self.arguments[usize::from(when.argument)];
        let flipped = |of: u64| {
            let bits = (0..u64::BITS).map(|bit| 1_u64 << bit).filter(move |bit| of & bit != 0);
            bits.map(|bit| self.set(when.argument, here ^ bit)).collect::<Vec<_>>()
        };
        match when.is {
            // The kernel reads only half of some arguments: the other half changes nothing, and the table says so.
            Is::Equal(_) => flipped(u64::MAX),
            Is::Without(bits) => flipped(bits),
            Is::Bits(of, _) => flipped(of),
            Is::OwnPid => {
                let wrong = |by| Self { own: Some((when.argument, by)), ..self };
                vec![wrong(1), wrong(1 << 20)]
            }
        }
    }
}

/// The cases of a row. Calls that end or stop a process have tests of their own.
pub(crate) fn cases(row: &'static Row) -> Vec<Case> {
    let mut all = Vec::new();
    let known = confine::notices::calls().map(|(name, _)| name);
    for name in known.filter(|name| !crate::sealed::ENDING.contains(name)) {
        all.push(Case::bare(name));
        for alternative in calls(row, name).flat_map(|call| call.when) {
            let fits = alternative.iter().fold(Case::bare(name), Case::keeping);
            all.push(fits);
            for when in *alternative {
                all.extend(fits.breaking(when));
            }
        }
    }
    all
}
