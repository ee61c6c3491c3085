//! Requests about channels: of the processes of platforms, and of persons.

use crate::channel_testing::FindingsPort;
use crate::port::ChannelPort;
use crate::state::RouterState;
use crate::state::channels::Claim as Waiting;
use crate::state::subscribers::FollowPort;
use ipc_proto::channel::{
    ACCOUNTS, Admitted, BATCH, Batch, ChannelInfo, ChannelView, Claim, DeliveryId, DeliveryInfo, FINDINGS,
    FilePart, Finding, GroupRule, Inbound, LinkCode, LiveTurn, Opened, Outcome, PIECES, PairingInfo, Piece,
    PieceId, Press, PressAnswer, Report,
};
use ipc_proto::config::UserRole;
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::router::{RouterError, UserInfo};
use ipc_proto::{List, Name, Text};
use manifest::Process;

/// A request of a platform's process.
pub(crate) enum PlatformRequest {
    Open { reply: ChannelPort<Opened> },
    Accept { batch: Batch, reply: ChannelPort<List<Admitted, BATCH>> },
    Wants { messages: List<Inbound, BATCH>, reply: ChannelPort<List<bool, BATCH>> },
    File { part: FilePart, reply: ChannelPort<Option<[u8; 32]>> },
    Claim { claim: Waiting },
    Plan { delivery: DeliveryId, pieces: List<Piece, PIECES>, reply: ChannelPort<()> },
    Take { life: u64, piece: PieceId, preview: Option<Text<128>>, reply: ChannelPort<Claim> },
    Done { piece: PieceId, outcome: Outcome, reply: ChannelPort<()> },
    Turns { reply: ChannelPort<List<LiveTurn, 64>> },
    MayPreview { turn: TurnId, reply: ChannelPort<bool> },
    Preview { turn: TurnId, id: Text<128>, reply: ChannelPort<()> },
    Follow { turn: TurnId, from: u64, credit: u16, reply: FollowPort },
    Invited { sender: Text<128>, reply: ChannelPort<bool> },
    Press { press: Press, reply: ChannelPort<PressAnswer> },
    Report { report: Report, reply: ChannelPort<()> },
    Checked { check: u64, findings: List<Finding, FINDINGS>, reply: ChannelPort<()> },
}

/// A request about channels.
pub(crate) enum ChannelsRequest {
    /// A request of the process `caller` about one of its accounts.
    Platform {
        caller: Process,
        account: Name,
        request: PlatformRequest,
    },
    List {
        reply: ChannelPort<List<ChannelInfo, ACCOUNTS>>,
    },
    Show {
        name: Name,
        reply: ChannelPort<ChannelView>,
    },
    Pause {
        by: Name,
        name: Name,
        paused: bool,
        reply: ChannelPort<()>,
    },
    Group {
        by: Name,
        channel: Name,
        group: Text<128>,
        rule: Option<GroupRule>,
        reply: ChannelPort<()>,
    },
    Pairings {
        reply: ChannelPort<List<PairingInfo, 256>>,
    },
    Approve {
        by: Name,
        code: Name,
        user: Name,
        role: UserRole,
        reply: ChannelPort<UserInfo>,
    },
    Refuse {
        by: Name,
        code: Name,
        reply: ChannelPort<()>,
    },
    CreateLink {
        by: Name,
        user: Name,
        reply: ChannelPort<LinkCode>,
    },
    Link {
        by: Name,
        user: Name,
        identity: Text<256>,
        reply: ChannelPort<UserInfo>,
    },
    Unlink {
        by: Name,
        user: Name,
        identity: Text<256>,
        reply: ChannelPort<UserInfo>,
    },
    Check {
        name: Name,
        reply: FindingsPort,
    },
    Test {
        by: Name,
        name: Name,
        to: Text<128>,
        reply: ChannelPort<DeliveryId>,
    },
    Deliveries {
        user: Option<UserId>,
        message: Option<MessageId>,
        unknown: bool,
        reply: ChannelPort<List<DeliveryInfo, 256>>,
    },
    Resend {
        user: Option<UserId>,
        by: Name,
        message: MessageId,
        reply: ChannelPort<u32>,
    },
}

impl RouterState {
    /// Handles one of them. Work that it makes is given out after it is answered.
    pub(crate) fn channels_request(&mut self, request: ChannelsRequest) {
        match request {
            ChannelsRequest::Platform { caller, account, request } => {
                self.platform_request(caller, &account, request);
            }
            ChannelsRequest::List { reply } => drop(reply.send(self.channel_list())),
            ChannelsRequest::Show { name, reply } => drop(reply.send(self.channel_view(&name))),
            ChannelsRequest::Pause { by, name, paused, reply } => {
                self.pause_channel(&by, &name, paused, reply);
            }
            ChannelsRequest::Group { by, channel, group, rule, reply } => {
                self.set_group(&by, &channel, (group, rule), reply);
            }
            ChannelsRequest::Pairings { reply } => drop(reply.send(self.pairings())),
            ChannelsRequest::Approve { by, code, user, role, reply } => {
                self.approve_pairing(&by, &code, (user, role), reply);
            }
            ChannelsRequest::Refuse { by, code, reply } => self.refuse_pairing(&by, &code, reply),
            ChannelsRequest::CreateLink { by, user, reply } => self.create_link(&by, &user, reply),
            ChannelsRequest::Link { by, user, identity, reply } => {
                self.change_identity(&by, &user, (identity, true), reply);
            }
            ChannelsRequest::Unlink { by, user, identity, reply } => {
                self.change_identity(&by, &user, (identity, false), reply);
            }
            ChannelsRequest::Check { name, reply } => self.check_channel(&name, reply),
            ChannelsRequest::Test { by, name, to, reply } => self.test_channel(&by, &name, &to, reply),
            ChannelsRequest::Deliveries { user, message, unknown, reply } => {
                drop(reply.send(self.deliveries(user, message, unknown)));
            }
            ChannelsRequest::Resend { user, by, message, reply } => self.resend(user, &by, message, reply),
        }
    }

    fn platform_request(&mut self, caller: Process, account: &Name, request: PlatformRequest) {
        match request {
            PlatformRequest::Open { reply } => drop(reply.send(self.open_channel(caller, account))),
            PlatformRequest::Accept { batch, reply } => {
                drop(reply.send(self.channel_accept(caller, account, &batch)));
            }
            PlatformRequest::Wants { messages, reply } => {
                drop(reply.send(self.channel_wants(caller, account, &messages)));
            }
            PlatformRequest::File { part, reply } => {
                drop(reply.send(self.channel_file(caller, account, &part)));
            }
            PlatformRequest::Claim { claim } => self.channel_claim(caller, account, claim),
            PlatformRequest::Plan { delivery, pieces, reply } => {
                drop(reply.send(self.channel_plan(caller, account, delivery, &pieces)));
            }
            PlatformRequest::Take { life, piece, preview, reply } => {
                drop(reply.send(self.channel_take(caller, account, life, piece, preview)));
            }
            PlatformRequest::Done { piece, outcome, reply } => {
                drop(reply.send(self.channel_done(caller, account, piece, &outcome)));
            }
            PlatformRequest::Turns { reply } => drop(reply.send(self.channel_turns(caller, account))),
            PlatformRequest::MayPreview { turn, reply } => {
                drop(reply.send(self.channel_may_show(caller, account, turn)));
            }
            PlatformRequest::Preview { turn, id, reply } => {
                drop(reply.send(self.channel_preview(caller, account, turn, &id)));
            }
            PlatformRequest::Follow { turn, from, credit, reply } => {
                match self.channel_may_follow(caller, account, turn) {
                    Ok(()) => self.follow(None, turn, from, credit, reply),
                    Err(_) => drop(reply.send(Err(RouterError::NoTurn))),
                }
            }
            PlatformRequest::Invited { sender, reply } => {
                drop(reply.send(self.channel_invited(caller, account, &sender)));
            }
            PlatformRequest::Press { press, reply } => {
                self.channel_press(caller, account, &press, reply);
            }
            PlatformRequest::Checked { check, findings, reply } => {
                drop(reply.send(self.channel_checked(caller, account, check, findings)));
            }
            PlatformRequest::Report { report, reply } => {
                drop(reply.send(self.channel_report(caller, account, report)));
            }
        }
    }
}
