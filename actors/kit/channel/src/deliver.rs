//! Delivering: work claimed from router, plans stored before their first piece, and each piece taken when it can be sent, sent, and
//! its outcome stored.

use crate::account::{Account, Refused, Shown, flat, pause};
use crate::holding::{Grip, Holding};
use crate::parse::Links;
use crate::plan::plan;
use crate::platform::{Found, Platform};
use ipc_proto::channel::{
    Answer, Body, ChannelError, Claim, Due, FINDINGS, Finding, HOLDING, Outcome, PIECES, Piece, PieceId,
    Work, WorkBatch,
};
use ipc_proto::router::method;
use ipc_proto::{Blob, List, Text};
use std::rc::Rc;
use std::time::Duration;

/// The pause while as many pieces are held as may be, or an outcome is not stored yet.
const PAUSE: Duration = Duration::from_millis(200);

/// Delivers for an account, for ever. A conversation that waits delays no other.
pub(crate) async fn deliver<P: Platform>(account: Rc<Account<P>>) {
    let Ok(life) = getrandom::u64() else {
        tracing::error!(channel = %account.name, "no random numbers: nothing is delivered");
        return;
    };
    let holding = Holding::default();
    loop {
        if holding.pieces().len() >= HOLDING {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        match claim(&account, life, &holding).await {
            Ok(batch) => {
                for work in batch {
                    begin(&account, &holding, life, work).await;
                }
            }
            Err(wait) => tokio::time::sleep(wait).await,
        }
    }
}

async fn claim<P: Platform>(
    account: &Account<P>,
    life: u64,
    holding: &Holding,
) -> Result<WorkBatch, Duration> {
    let held = List::<PieceId, HOLDING>::clip(holding.pieces());
    let claimed = account.router.call(&method::channel_claim, |router, context| {
        let (name, held) = (account.name.clone(), held.clone());
        async move { router.channel_claim(context, name, life, held).await }
    });
    flat(claimed.await).map_err(|refused| pause(&refused))
}

async fn begin<P: Platform>(account: &Rc<Account<P>>, holding: &Holding, life: u64, work: Work) {
    match work {
        Work::Plan(answer) => store_plan(account, &answer).await,
        Work::Check(number) => drop(tokio::task::spawn_local(check(Rc::clone(account), number))),
        Work::Send(due) => {
            let grip = holding.grip(due.piece);
            drop(tokio::task::spawn_local(send(Rc::clone(account), grip, life, due)));
        }
        Work::Find(claim) => {
            let grip = holding.grip(claim.piece);
            drop(tokio::task::spawn_local(look(Rc::clone(account), grip, claim)));
        }
    }
}

/// Looks at an account, and gives what was found.
async fn check<P: Platform>(account: Rc<Account<P>>, number: u64) {
    let findings = List::<Finding, FINDINGS>::clip(account.platform.check().await);
    let given = account.router.call(&method::channel_checked, |router, context| {
        let (name, findings) = (account.name.clone(), findings.clone());
        async move { router.channel_checked(context, name, number, findings).await }
    });
    if let Err(refused) = flat(given.await) {
        tracing::warn!(channel = %account.name, ?refused, "what was found of the account is not given");
    }
}

/// Plans an answer. A plan that is stored already holds; one that is not stored is asked for again.
async fn store_plan<P: Platform>(account: &Account<P>, answer: &Answer) {
    let pieces = pieces(&account.platform, answer);
    let stored = account.router.call(&method::channel_plan, |router, context| {
        let (name, pieces) = (account.name.clone(), pieces.clone());
        async move { router.channel_plan(context, name, answer.delivery, pieces).await }
    });
    if let Err(refused) = flat(stored.await) {
        tracing::warn!(channel = %account.name, delivery = %answer.delivery, ?refused, "the plan is not stored");
        tokio::time::sleep(PAUSE).await;
    }
}

/// The pieces of an answer. An answer that shows nothing is a line that says so.
fn pieces<P: Platform>(platform: &P, answer: &Answer) -> List<Piece, PIECES> {
    let hidden = answer.plain_links || P::FACTS.hides_links();
    let links = if hidden { Links::AsCode { except: &[] } } else { Links::Live };
    let mut planned = plan(&answer.text, &P::FACTS, links);
    if planned.parts.is_empty() {
        planned = plan("(an empty answer)", &P::FACTS, links);
    }
    let texts = planned.parts.into_iter().map(|part| platform.piece(part));
    let file = planned.file.map(|file| Piece {
        body: Body::File { name: Text::clip(file.name), bytes: Blob::new(file.bytes).unwrap_or_default() },
        markup: Text::clip(""),
    });
    List::clip(texts.chain(file))
}

/// Sends a piece once it may go, and stores its outcome. It is taken at the last moment: what waits for the conversation's pace, or for
/// the way out, is known not to have been sent.
async fn send<P: Platform>(account: Rc<Account<P>>, grip: Grip, life: u64, due: Due) {
    let _alone = grip.alone().await;
    let permit = account.pacer.permit(&due.conversation).await;
    while !account.way.ready().await {}
    let preview = match due.reply_to.as_ref().and_then(|to| account.shown(&due.conversation, to)) {
        // A preview of which router does not know yet is replaced as well.
        Some(Shown::Preview(id)) => Some(id),
        Some(Shown::Answer) | None => None,
    };
    let claim = match take(&account, life, due.piece, preview).await {
        Ok(claim) => claim,
        Err(refused) => {
            tracing::debug!(channel = %account.name, delivery = %due.piece.delivery, ?refused, "not to be sent now");
            return permit.leave();
        }
    };
    note_answer(&account, &claim);
    let outcome = account.platform.put(&claim).await;
    drop(permit);
    settle(&account, &claim, outcome).await;
}

async fn take<P: Platform>(
    account: &Account<P>,
    life: u64,
    piece: PieceId,
    preview: Option<Text<128>>,
) -> Result<Claim, Refused> {
    let taken = account.router.call(&method::channel_take, |router, context| {
        let (name, preview) = (account.name.clone(), preview.clone());
        async move { router.channel_take(context, name, life, piece, preview).await }
    });
    flat(taken.await)
}

/// Looks for a piece that may have been sent by an earlier life of this process.
async fn look<P: Platform>(account: Rc<Account<P>>, grip: Grip, claim: Claim) {
    let _alone = grip.alone().await;
    drop(account.pacer.permit(&claim.conversation).await);
    note_answer(&account, &claim);
    settle(&account, &claim, Outcome::Unknown).await;
}

/// No preview of the answer is shown from now on.
fn note_answer<P: Platform>(account: &Account<P>, claim: &Claim) {
    if let Some(message) = claim.reply_to.as_ref() {
        account.note(&claim.conversation, message, Shown::Answer);
    }
}

/// Stores the outcome of a piece. One that is unknown is looked for first.
async fn settle<P: Platform>(account: &Account<P>, claim: &Claim, mut outcome: Outcome) {
    if outcome == Outcome::Unknown {
        outcome = match account.platform.find(claim).await {
            Found::Sent(id) => Outcome::Sent { id },
            Found::Missing => Outcome::Unsent { after_ms: 0 },
            Found::Cannot => Outcome::Unknown,
        };
    }
    loop {
        let stored = account.router.call(&method::channel_done, |router, context| {
            let (name, outcome) = (account.name.clone(), outcome.clone());
            async move { router.channel_done(context, name, claim.piece, outcome).await }
        });
        match flat(stored.await) {
            Ok(()) | Err(Ok(ChannelError::NoDelivery)) => break,
            Err(refused) => tokio::time::sleep(pause(&refused)).await,
        }
    }
}
