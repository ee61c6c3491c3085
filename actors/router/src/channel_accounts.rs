//! The accounts of messaging platforms: a process is served for the accounts of its own platform alone, and operators see and pause
//! all of them.

use crate::port::ChannelPort;
use crate::state::RouterState;
use crate::state::effects::{ChannelRequest, PendingRequest, Recorded};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::channel::{
    ACCOUNTS, ChannelError, ChannelInfo, ChannelView, GroupInfo, GroupRule, Health, Link, Opened, Report,
};
use ipc_proto::config::ChannelRules;
use ipc_proto::{List, Name, Text};
use manifest::Process;

/// An account with its rules.
#[derive(Clone)]
pub(crate) struct Channel {
    /// `PLATFORM:NAME`.
    pub(crate) name: Name,
    /// Its name in the configuration.
    pub(crate) account: Name,
    pub(crate) rules: ChannelRules,
}

impl RouterState {
    /// The account of this name.
    pub(crate) fn channel_of(&self, account: &str) -> Result<Channel, ChannelError> {
        let rules = self.config.channels.get(account).ok_or(ChannelError::NoChannel)?;
        let name = rules.platform.channel(account);
        Ok(Channel { name, account: Name::clip(account), rules: rules.clone() })
    }

    /// The account of this name, if the calling process serves its platform.
    pub(crate) fn own_channel(&self, caller: Process, account: &str) -> Result<Channel, ChannelError> {
        let channel = self.channel_of(account)?;
        let own = channel.rules.platform.process() == caller;
        if own { Ok(channel) } else { Err(ChannelError::NoChannel) }
    }

    /// An account as its process finds it.
    pub(crate) fn open_channel(&self, caller: Process, account: &str) -> Result<Opened, ChannelError> {
        let channel = self.own_channel(caller, account)?;
        let stored = self.store.account(&channel.name)?;
        let reported = self.channels.get(&channel.name).is_some_and(|state| state.health.is_some());
        Ok(Opened { cursor: stored.cursor, paused: stored.paused, reported })
    }

    /// Stores what a process reports of an account. A connection that goes up or down is on the record.
    pub(crate) fn channel_report(
        &mut self,
        caller: Process,
        account: &str,
        report: Report,
    ) -> Result<(), ChannelError> {
        let channel = self.own_channel(caller, account)?;
        let state = self.channels.account(&channel.name);
        state.malformed = state.malformed.saturating_add(report.health.malformed.into());
        let was = state.health.as_ref().map(|health| health.state);
        let Health { state: link, reason, .. } = &report.health;
        let (link, reason) = (*link, format!("{}: {reason}", link.name()));
        state.health = Some(report.health);
        if was != Some(link) && link != Link::Connecting {
            let result = if link == Link::Up { Result3::Success } else { Result3::Error };
            let event = Event::new(Action::ChannelChanged, result).about(&channel.name).because(&reason);
            self.record(event, Recorded::Nothing);
        }
        Ok(())
    }

    /// Every channel.
    pub(crate) fn channel_list(&self) -> Result<List<ChannelInfo, ACCOUNTS>, ChannelError> {
        let all: Result<Vec<_>, _> =
            self.config.channels.keys().map(|name| self.channel_info(name)).collect();
        Ok(List::clip(all?))
    }

    fn channel_info(&self, account: &str) -> Result<ChannelInfo, ChannelError> {
        let channel = self.channel_of(account)?;
        let stored = self.store.account(&channel.name)?;
        let health = self.channels.get(&channel.name).and_then(|state| state.health.as_ref());
        Ok(ChannelInfo {
            name: channel.account,
            platform: channel.rules.platform,
            paused: stored.paused,
            link: health.map(|health| health.state).unwrap_or_default(),
            reason: health.map(|health| health.reason.clone()).unwrap_or_default(),
            admitted_ms: stored.admitted_ms,
            sent_ms: stored.sent_ms,
        })
    }

    /// One channel in full.
    pub(crate) fn channel_view(&self, account: &str) -> Result<ChannelView, ChannelError> {
        let (info, channel) = (self.channel_info(account)?, self.channel_of(account)?);
        let (waiting, unknown) = self.store.delivery_counts(&channel.name)?;
        let pairings = self.store.pairings_pending(&channel.name, self.now.ms)?.len();
        let state = self.channels.get(&channel.name);
        let health = state.and_then(|state| state.health.as_ref());
        let dropped = state.map(|state| &state.dropped).into_iter().flatten();
        let configured = channel
            .rules
            .groups
            .iter()
            .map(|group| GroupInfo { group: Text::clip(group), rule: configured_rule(&channel.rules) });
        Ok(ChannelView {
            info,
            dm: Name::clip(channel.rules.dm.name()),
            waiting,
            unknown,
            pairings: u32::try_from(pairings).unwrap_or(u32::MAX),
            malformed: state.map(|state| state.malformed).unwrap_or_default(),
            dropped: List::clip(dropped.map(|(reason, count)| (Name::clip(reason.name()), *count))),
            groups: List::clip(configured.chain(self.store.groups(&channel.name)?)),
            trouble: health.map(|health| health.trouble).unwrap_or_default(),
            clock_s: health.and_then(|health| health.clock_s),
            secret: Name::clip(&channel.rules.secret),
            hosts: List::clip(channel.rules.hosts.iter().map(|host| Text::clip(host))),
            approve_code: channel.rules.approve_code.is_some(),
        })
    }

    /// The rule of a group: the configuration's, or else an operator's.
    pub(crate) fn group_rule(
        &self,
        channel: &Channel,
        group: &str,
    ) -> Result<Option<GroupRule>, ChannelError> {
        let first = self.first_id(channel, group)?;
        if channel.rules.groups.iter().any(|id| id == group || *id == first) {
            return Ok(Some(configured_rule(&channel.rules)));
        }
        Ok(self.store.group(&channel.name, group)?)
    }

    /// Pauses a channel, or resumes it, once that is on the record.
    pub(crate) fn pause_channel(&mut self, by: &Name, account: &str, paused: bool, port: ChannelPort<()>) {
        match self.channel_of(account) {
            Ok(channel) => {
                let verb = if paused { "pause" } else { "resume" };
                let event = command_event(&channel.name, &format!("{verb}, by {by}"));
                let request = ChannelRequest::Paused { channel: channel.name, paused, port };
                self.record(event, Recorded::Request(PendingRequest::Channel(request)));
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// Admits a group, or no longer, once that is on the record.
    pub(crate) fn set_group(
        &mut self,
        by: &Name,
        account: &str,
        (group, rule): (Text<128>, Option<GroupRule>),
        port: ChannelPort<()>,
    ) {
        match self.channel_of(account) {
            Ok(channel) => {
                let verb = if rule.is_some() { "group admitted" } else { "group no longer admitted" };
                let event = command_event(&channel.name, &format!("{verb}, by {by}"));
                let request = ChannelRequest::Group { channel: channel.name, group, rule, port };
                self.record(event, Recorded::Request(PendingRequest::Channel(request)));
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }
}

/// The event for a person's command about a channel.
pub(crate) fn command_event(channel: &Name, why: &str) -> Event {
    Event::new(Action::OperatorCommand, Result3::Success).about(channel).because(why)
}

const fn configured_rule(rules: &ChannelRules) -> GroupRule {
    GroupRule { members: rules.members, require_mention: rules.require_mention }
}
