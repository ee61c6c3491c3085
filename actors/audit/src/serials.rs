//! Which entries each witness put on the record lately: a repeated append is one entry. It opens nothing.

use ipc_proto::Name;
use ipc_proto::audit::Serial;
use std::collections::{HashMap, VecDeque};

/// Serials remembered per witness: a repeat comes at once or not at all.
pub(crate) const REMEMBERED: usize = 512;

/// What each witness put on the record lately.
#[derive(Debug, Default)]
pub(crate) struct Serials(HashMap<Name, Recent>);

/// The entries of one witness: by serial, and in their order. Every append looks here, so it must not take longer for
/// how many are remembered.
#[derive(Debug, Default)]
struct Recent {
    indices: HashMap<(u64, u64), u64>,
    order: VecDeque<(u64, u64)>,
}

impl Serials {
    /// Remembers an entry.
    pub(crate) fn keep(&mut self, witness: &Name, serial: Serial, index: u64) {
        if let Some(recent) = self.0.get_mut(witness) {
            return recent.keep(serial, index);
        }
        self.0.entry(witness.clone()).or_default().keep(serial, index);
    }

    /// The index of an entry that is there already.
    pub(crate) fn index(&self, witness: &Name, serial: Serial) -> Option<u64> {
        self.0.get(witness)?.indices.get(&(serial.life, serial.number)).copied()
    }
}

impl Recent {
    fn keep(&mut self, serial: Serial, index: u64) {
        let key = (serial.life, serial.number);
        if self.indices.insert(key, index).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.indices.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_of_each_witness_are_known_and_no_more_are_kept() {
        let mut serials = Serials::default();
        let [gate, router] = ["gate", "router"].map(Name::clip);
        let serial = |number| Serial { life: 7, number };
        for number in 0..2000 {
            serials.keep(&gate, serial(number), number + 10);
        }
        assert_eq!(serials.index(&gate, serial(1999)), Some(2009));
        assert_eq!(serials.index(&gate, serial(2000 - REMEMBERED as u64)), Some(2010 - REMEMBERED as u64));
        assert_eq!(serials.index(&gate, serial(1999 - REMEMBERED as u64)), None);
        assert_eq!((serials.index(&router, serial(1999)), serials.index(&gate, serial(9999))), (None, None));
        let kept = serials.0.values().map(|recent| (recent.indices.len(), recent.order.len()));
        assert_eq!(kept.collect::<Vec<_>>(), [(REMEMBERED, REMEMBERED)]);
    }
}
