//! The accounts of messaging platforms as this process knows them: their health, their senders' rates, and the calls that wait for
//! work. Nothing here is durable.

use crate::channels::loops::Loops;
use crate::channels::rates::Rates;
use crate::port::ChannelPort;
use ipc_proto::channel::{DropReason, FINDINGS, Finding, Health, PieceId, WorkBatch};
use ipc_proto::{List, Name};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

/// Takes work of an account.
pub(crate) type WorkPort = ChannelPort<WorkBatch>;

/// A call for work.
pub(crate) struct Claim {
    /// A random number of the process that asks.
    pub(crate) life: u64,
    /// The pieces that it holds without an outcome.
    pub(crate) holding: Vec<PieceId>,
    pub(crate) port: WorkPort,
}

/// A look at an account that was asked for.
pub(crate) struct Check {
    pub(crate) number: u64,
    /// True once its process was asked.
    pub(crate) asked: bool,
    pub(crate) port: ChannelPort<List<Finding, FINDINGS>>,
}

impl Check {
    pub(crate) const fn new(number: u64, port: ChannelPort<List<Finding, FINDINGS>>) -> Self {
        Self { number, asked: false, port }
    }
}

/// An account since router started.
#[derive(Default)]
pub(crate) struct AccountState {
    pub(crate) health: Option<Health>,
    pub(crate) malformed: u64,
    pub(crate) dropped: BTreeMap<DropReason, u64>,
    /// Messages of guests, and the day (UTC) that they are counted for.
    pub(crate) guests: (u64, u32),
    pub(crate) check: Option<Check>,
    claim: Option<Claim>,
}

/// Every account.
#[derive(Default)]
pub(crate) struct Channels {
    accounts: HashMap<Name, AccountState>,
    /// Accounts with new work, which is given out once the request under way is done.
    to_wake: BTreeSet<Name>,
    pub(crate) rates: Rates,
    pub(crate) loops: Loops,
    /// Looks at accounts so far.
    checks: u64,
}

impl Channels {
    /// An account.
    pub(crate) fn account(&mut self, channel: &Name) -> &mut AccountState {
        self.accounts.entry(channel.clone()).or_default()
    }

    /// An account that something is known of.
    pub(crate) fn get(&self, channel: &str) -> Option<&AccountState> {
        self.accounts.iter().find(|(name, _)| name.as_str() == channel).map(|(_, account)| account)
    }

    /// The number of a new look at an account.
    pub(crate) fn next_check(&mut self) -> u64 {
        self.checks = self.checks.wrapping_add(1);
        self.checks
    }

    /// The look at an account that its process has not been asked for yet; now it is.
    pub(crate) fn take_check(&mut self, channel: &Name) -> Option<u64> {
        let check = self.account(channel).check.as_mut().filter(|check| !check.asked)?;
        check.asked = true;
        Some(check.number)
    }

    /// A call waits for work. It takes the place of an earlier one of that account, which gets none.
    pub(crate) fn wait(&mut self, channel: &Name, claim: Claim) {
        if let Some(earlier) = self.account(channel).claim.replace(claim) {
            drop(earlier.port.send(Ok(WorkBatch::default())));
        }
    }

    /// The call that waits for work of an account, which waits no longer.
    pub(crate) fn take_waiting(&mut self, channel: &str) -> Option<Claim> {
        let (_, account) = self.accounts.iter_mut().find(|(name, _)| name.as_str() == channel)?;
        account.claim.take().filter(|claim| !claim.port.is_closed())
    }

    /// The process of an account holds this piece no longer: a call of its that waits may be told of it again.
    pub(crate) fn let_go(&mut self, channel: &Name, piece: PieceId) {
        if let Some(claim) = &mut self.account(channel).claim {
            claim.holding.retain(|held| *held != piece);
        }
    }

    /// Accounts for which a call waits.
    pub(crate) fn waiting(&self) -> Vec<Name> {
        self.accounts
            .iter()
            .filter(|(_, account)| account.claim.is_some())
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Has new work of an account be given out once the request under way is done.
    pub(crate) fn wake_later(&mut self, channel: &Name) {
        self.to_wake.insert(channel.clone());
    }

    /// Accounts whose new work is given out now.
    pub(crate) fn take_to_wake(&mut self) -> BTreeSet<Name> {
        std::mem::take(&mut self.to_wake)
    }

    /// Counts a message that was dropped.
    pub(crate) fn count_dropped(&mut self, channel: &Name, reason: DropReason) {
        *self.account(channel).dropped.entry(reason).or_default() += 1;
    }

    /// Counts a message of a guest on this day; false if the guests of the account have sent `most` today.
    pub(crate) fn admit_guest(&mut self, channel: &Name, day: u64, most: u32) -> bool {
        let (on, count) = &mut self.account(channel).guests;
        if *on != day {
            (*on, *count) = (day, 0);
        }
        let admitted = *count < most;
        *count += u32::from(admitted);
        admitted
    }

    /// Returns true if this notice was not sent within the last hour.
    pub(crate) fn once(&mut self, channel: &str, notice: &str, sender: &str, now: Instant) -> bool {
        self.rates.once(&format!("{channel} {notice} {sender}"), now)
    }
}
