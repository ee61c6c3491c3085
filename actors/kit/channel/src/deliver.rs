//! Delivering: work claimed from router, plans stored before their first piece, and each piece sent and its outcome stored.

use crate::account::{Account, Shown, flat, pause};
use crate::parse::Links;
use crate::plan::plan;
use crate::platform::{Found, Platform};
use ipc_proto::channel::{
    Answer, Body, Claim, FINDINGS, Finding, HOLDING, Outcome, PIECES, Piece, PieceId, Work, WorkBatch,
};
use ipc_proto::router::method;
use ipc_proto::{Blob, List, Text};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// The pause while as many pieces are held as may be, or an outcome is not stored yet.
const PAUSE: Duration = Duration::from_millis(200);

type Holding = Rc<RefCell<BTreeSet<PieceId>>>;

/// Delivers for an account, for ever. A conversation that waits delays no other.
pub(crate) async fn deliver<P: Platform>(account: Rc<Account<P>>) {
    let Ok(life) = getrandom::u64() else {
        tracing::error!(channel = %account.name, "no random numbers: nothing is delivered");
        return;
    };
    let holding = Holding::default();
    loop {
        if holding.borrow().len() >= HOLDING {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        match claim(&account, life, &holding).await {
            Ok(batch) => {
                for work in batch {
                    begin(&account, &holding, work).await;
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
    let held = List::<PieceId, HOLDING>::clip(holding.borrow().iter().copied());
    let claimed = account.router.call(&method::channel_claim, |router, context| {
        let (name, held) = (account.name.clone(), held.clone());
        async move { router.channel_claim(context, name, life, held).await }
    });
    flat(claimed.await).map_err(|refused| pause(&refused))
}

async fn begin<P: Platform>(account: &Rc<Account<P>>, holding: &Holding, work: Work) {
    match work {
        Work::Plan(answer) => store_plan(account, &answer).await,
        Work::Check(number) => drop(tokio::task::spawn_local(check(Rc::clone(account), number))),
        Work::Send(claim) => take(account, holding, claim, false),
        Work::Find(claim) => take(account, holding, claim, true),
    }
}

/// Takes a piece into this process's hands. One that may have been sent before is looked for first.
fn take<P: Platform>(account: &Rc<Account<P>>, holding: &Holding, claim: Claim, before: bool) {
    if holding.borrow_mut().insert(claim.piece) {
        drop(tokio::task::spawn_local(send(Rc::clone(account), Rc::clone(holding), claim, before)));
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

/// Sends a piece and stores its outcome; until then it is held.
async fn send<P: Platform>(account: Rc<Account<P>>, holding: Holding, mut claim: Claim, before: bool) {
    let permit = account.pacer.permit(&claim.conversation).await;
    if let Some(message) = claim.reply_to.as_ref().filter(|_| claim.piece.number == 0) {
        // A preview that was sent while this was claimed is replaced as well.
        if let (None, Some(Shown::Preview(id))) = (&claim.edits, account.shown(&claim.conversation, message))
        {
            claim.edits = Some(id);
        }
        account.note(&claim.conversation, message, Shown::Answer);
    }
    let mut outcome = if before { Outcome::Unknown } else { account.platform.put(&claim).await };
    drop(permit);
    if outcome == Outcome::Unknown {
        outcome = match account.platform.find(&claim).await {
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
            Ok(()) | Err(Ok(ipc_proto::channel::ChannelError::NoDelivery)) => break,
            Err(refused) => tokio::time::sleep(pause(&refused)).await,
        }
    }
    holding.borrow_mut().remove(&claim.piece);
}
