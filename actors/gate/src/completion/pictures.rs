//! The pictures that a turn's calls took, on their way to its model: each is shown with the result of its call.

use crate::turn::context::TurnContext;
use ipc_proto::model::{Image, REQUEST_BOUND, Request};
use ipc_proto::{Blob, Text};

/// Adds the pictures to a request, the newest first, as many as fit with its words and its other images.
pub(crate) fn attach(context: &TurnContext, request: &mut Request) {
    let said: usize = request.messages.iter().map(|message| message.text.len()).sum();
    let mut bytes = said + request.images.iter().map(|image| image.bytes.len()).sum::<usize>();
    for (call, media, picture) in context.pictures.iter().rev() {
        let at = request.messages.iter().rposition(|message| message.answers == Some(*call));
        let Some(message) = at.and_then(|at| u16::try_from(at).ok()) else { continue };
        bytes += picture.len();
        let Ok(shown) = Blob::new(&**picture) else { return };
        let image = Image { message, media: Text::clip(media), bytes: shown };
        if bytes > REQUEST_BOUND || request.images.push(image).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::testing::context;
    use ipc_proto::List;
    use ipc_proto::ids::{CallId, UserId};
    use ipc_proto::model::{Message, Payer, Role};

    #[test]
    fn a_picture_is_shown_with_the_result_of_its_call_and_no_other() {
        let (first, second, gone) = (CallId::random(), CallId::random(), CallId::random());
        let result = |call| Message { answers: Some(call), ..Message::text(Role::Tool, "a picture") };
        let messages = [Message::text(Role::User, "look"), result(first), result(second)];
        let mut request =
            Request::new(Text::clip("corp/eyes"), List::clip(messages), Payer::of(UserId::random()));
        let mut context = context(vec![]);
        let picture = |n: u8, bytes: usize| Blob::new(vec![n; bytes]).unwrap();
        context.pictures = vec![
            (first, Text::clip("image/png"), picture(1, 3)),
            (gone, Text::clip("image/png"), picture(2, 3)),
            (second, Text::clip("image/jpeg"), picture(3, 3)),
        ];
        attach(&context, &mut request);
        let shown: Vec<(u16, u8)> =
            request.images.iter().map(|image| (image.message, image.bytes[0])).collect();
        assert_eq!(shown, [(2, 3), (1, 1)]);
    }
}
