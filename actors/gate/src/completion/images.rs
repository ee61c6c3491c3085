//! The images of a turn's message on their way to its model. They go with the message wherever it is in the conversation, within
//! the room that all share, and on the record before the first of them is sent. A runner gets none and cannot choose among them:
//! it can only repeat the message, which shows the same images again.

use crate::decision::record;
use crate::state::context::GateContext;
use crate::state::rates::{Load, RateKey, Rates};
use crate::turn::context::TurnContext;
use ipc_proto::List;
use ipc_proto::content::Content;
use ipc_proto::model::{IMAGES, Image, Message, ModelError, REQUEST_BOUND, Request, Role};
use ipc_proto::runner_gate::GateError;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Status of a request that is larger than a provider is sent.
const TOO_LARGE: u16 = 413;

/// Copies of their bytes in memory: with the turn, and with the request.
const COPIES: usize = 2;

/// The longest wait for room, which is shorter than a runner's, and the time between two attempts.
const PATIENCE: Duration = Duration::from_secs(20);

const RETRY: Duration = Duration::from_millis(500);

/// The index of the message that the turn answers, if it has images.
pub(crate) fn message_index(content: &Content, messages: &[Message]) -> Option<usize> {
    content.images().next()?;
    let words = content.plain();
    messages.iter().rposition(|message| message.role == Role::User && message.text.as_str() == words)
}

/// Puts the images into a request whose message `at` shows them; returns the room that they take until the request is answered.
pub(crate) async fn attach(
    gate: &GateContext,
    context: &mut TurnContext,
    at: Option<usize>,
    request: &mut Request,
) -> Result<Option<Load>, GateError> {
    let Some(at) = at.and_then(|at| u16::try_from(at).ok()) else { return Ok(None) };
    let bytes = context.turn.content.image_bytes();
    check_size(request, bytes).map_err(GateError::Model)?;
    let room = room(&gate.rates, rate_key(context), bytes, PATIENCE).await.map_err(GateError::Model)?;
    if !std::mem::replace(&mut context.images_recorded, true) {
        record_all(gate, context).await?;
    }
    request.images = images(&context.turn.content, at);
    Ok(Some(room))
}

/// Checks the size of a request against the bound of a provider's.
fn check_size(request: &Request, bytes: usize) -> Result<(), ModelError> {
    let said: usize = request.messages.iter().map(|message| message.text.len()).sum();
    if said + bytes > REQUEST_BOUND { Err(ModelError::Rejected { status: TOO_LARGE }) } else { Ok(()) }
}

fn rate_key(context: &TurnContext) -> RateKey {
    context.turn.key.map_or(RateKey::User(context.turn.user), |key| RateKey::Key(key.id))
}

/// Waits for room for the images, counted as their client's. Others hold theirs for one answer only.
async fn room(
    rates: &Rates,
    rate_key: RateKey,
    bytes: usize,
    patience: Duration,
) -> Result<Load, ModelError> {
    let until = Instant::now() + patience;
    loop {
        let room = rates.hold(COPIES * bytes).and_then(|load| load.of(rate_key, Instant::now().into_std()));
        match room {
            Ok(room) => return Ok(room),
            Err(_) if Instant::now() < until => sleep(RETRY).await,
            Err(_) => return Err(ModelError::Busy),
        }
    }
}

/// Records each image, once an attempt.
async fn record_all(gate: &GateContext, context: &TurnContext) -> Result<(), GateError> {
    for (media, bytes) in context.turn.content.images() {
        record::image(gate, context, media, bytes).await?;
    }
    kit::fault_point!("gate.images.recorded");
    Ok(())
}

fn images(content: &Content, message: u16) -> List<Image, IMAGES> {
    let images = content.images();
    List::clip(images.map(|(media, bytes)| Image { message, media: media.clone(), bytes: bytes.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::config::RelayLimits;
    use ipc_proto::content::{IMAGES_BOUND, Media, Part, Place};
    use ipc_proto::ids::UserId;
    use ipc_proto::{Blob, Text};

    fn content() -> Content {
        let image = |n: u8| {
            let place = Place::Bytes(Blob::new(vec![n; 3]).unwrap());
            Part::Image(Media { place, media_type: Text::clip("image/png"), name: None })
        };
        let far = Place::Url(Text::clip("https://a.example/i.png"));
        let far = Part::Image(Media { place: far, media_type: Text::clip("image/gif"), name: None });
        Content {
            parts: List::clip([image(1), Part::Text(Text::clip("look")), far, image(2)]),
            ..Content::default()
        }
    }

    // Holds P3-41.
    #[test]
    fn images_are_shown_with_their_own_message_wherever_the_runner_has_put_it() {
        let (content, user) = (content(), |text: &str| Message::text(Role::User, text));
        let words = content.plain();
        let said = [user("look"), user(&words), Message::text(Role::Tool, &words), user("and then")];
        assert_eq!(message_index(&content, &said), Some(1));
        assert_eq!(
            message_index(&content, &[user(&words), user("x"), user(&words)]),
            Some(2),
            "once, however often it stands"
        );
        assert_eq!(message_index(&content, &[user("look")]), None, "nowhere else");
        let words = Content::text(Text::clip("look"));
        assert_eq!(message_index(&words, &[user("look")]), None, "there is none to show");
    }

    // Holds B-71.
    #[test]
    fn words_and_images_are_together_no_more_than_a_provider_is_sent() {
        let said = vec![Message::text(Role::User, &"x".repeat(1 << 20))];
        let payer = ipc_proto::model::Payer::of(UserId::random());
        let request = Request::new(Text::clip("corp/eyes"), List::clip(said), payer);
        assert_eq!(check_size(&request, REQUEST_BOUND - (1 << 20)), Ok(()));
        let refused = check_size(&request, REQUEST_BOUND - (1 << 20) + 1);
        assert_eq!(refused, Err(ModelError::Rejected { status: TOO_LARGE }));
    }

    // Holds B-70.
    #[tokio::test]
    async fn images_wait_for_room_and_hold_it_until_they_are_answered() {
        let rates = Rates::new(RelayLimits { requests_per_minute: 60, streams_per_key: 8 });
        let (one, other) = (RateKey::User(UserId::random()), RateKey::User(UserId::random()));
        let ask = |rate_key, patience| room(&rates, rate_key, IMAGES_BOUND, patience);
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(ask(one, Duration::ZERO).await.unwrap());
        }
        assert_eq!(ask(one, Duration::ZERO).await.map(drop), Err(ModelError::Busy), "half of all is theirs");
        assert!(ask(other, Duration::ZERO).await.is_ok(), "the rest is for others");
        let mut waiting = Box::pin(ask(one, PATIENCE));
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(held);
        assert!(waiting.await.is_ok());
    }

    // Holds P3-41.
    #[test]
    fn images_are_shown_in_order_and_none_is_fetched_from_an_address() {
        let shown = images(&content(), 7);
        let told: Vec<(u16, &str, &[u8])> =
            shown.iter().map(|image| (image.message, image.media.as_str(), &*image.bytes)).collect();
        assert_eq!(told, [(7, "image/png", &[1; 3][..]), (7, "image/png", &[2; 3][..])]);
    }
}
