//! A client's chat request in a form of no vendor: a conversation with its tools and options, as the bus carries it. A value that does not
//! fit is refused with the name of the field; nothing is cut.

use crate::fault::{Fault, Kind};
use crate::form;
use crate::ids;
use crate::matched::{self, Matched};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipc_proto::content::MEDIA_BOUND;
use ipc_proto::ids::UserId;
use ipc_proto::model::{
    Asked, Choice, IMAGES, Image, Message, Payer, REQUEST_BOUND, Request, Role, Think, Thought,
};
use ipc_proto::tool::{TOOLS, ToolSpec};
use ipc_proto::{Blob, List, Name, Text};
use serde_json::Value;

/// The prefix of an agent's name in place of a model's.
pub const AGENT: &str = "agent/";
/// Tokens of an answer whose client does not say how many.
pub const OUTPUT: u32 = 4096;
/// Most tokens that a client may ask for.
const OUTPUT_BOUND: u32 = 1_000_000;
/// Media types of images that models know.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A chat request.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// The conversation; whose money it spends is filled in by the gate.
    pub request: Request,
    /// The client's own name for the conversation.
    pub conversation: Option<String>,
    /// The response that it goes on from.
    pub previous: Option<String>,
}

/// One request of a client, read.
#[derive(Debug)]
pub struct Ask<W> {
    /// The chat request.
    pub chat: ChatRequest,
    /// True if the answer is to come as a stream.
    pub streams: bool,
    /// The writer of the answer.
    pub writer: W,
}

/// A conversation that is being put together.
#[derive(Debug, Default)]
pub struct Draft {
    messages: Vec<Message>,
    images: Vec<Image>,
    bytes: usize,
    matched: Matched,
}

/// The options of a chat request.
#[derive(Debug, Default)]
pub struct Options {
    /// The model's name.
    pub model: String,
    /// The client's own tools.
    pub tools: Vec<ToolSpec>,
    /// True if it has others besides, which its vendor would run.
    pub others: bool,
    /// Most tokens of the answer, and the field that says so.
    pub max_output: Option<(&'static str, u32)>,
    /// From 0 to 2.
    pub temperature: Option<f64>,
    /// From 0 to 1.
    pub top_p: Option<f64>,
    /// The field of the texts that end the answer, and these.
    pub stop: (&'static str, Vec<String>),
    /// The choice of tools.
    pub choice: Choice,
    /// How much the model is to think first.
    pub think: Think,
}

impl Draft {
    /// Adds a message of text.
    ///
    /// # Errors
    /// It does not fit.
    pub fn say(&mut self, role: Role, text: String, at: &str) -> Result<(), Fault> {
        self.bytes += text.len();
        let text = Text::new(text).map_err(|long| too_long(at, &long))?;
        self.messages.push(Message { text, ..Message::text(role, "") });
        self.fits()
    }

    /// Adds an instruction for the form of the answer, unless the conversation is empty.
    ///
    /// # Errors
    /// The form is unknown, or the instruction does not fit.
    pub(crate) fn form(&mut self, wanted: Option<&Value>, at: &str) -> Result<(), Fault> {
        match form::instruction(wanted, at)? {
            Some(words) if !self.messages.is_empty() => self.say(Role::System, words, at),
            _ => Ok(()),
        }
    }

    /// Adds what the assistant thought to what it said last.
    ///
    /// # Errors
    /// It does not fit.
    pub fn think(&mut self, thoughts: Vec<Thought>, at: &str) -> Result<(), Fault> {
        self.bytes += thoughts.iter().map(Thought::bytes).sum::<usize>();
        if let Some(last) = self.messages.last_mut() {
            last.thoughts = List::new(thoughts).map_err(|many| too_long(at, &many))?;
        }
        self.fits()
    }

    /// Adds what an assistant said and the calls that it asked for.
    ///
    /// # Errors
    /// It does not fit.
    pub fn reply(&mut self, text: String, calls: Vec<Asked>, at: &str) -> Result<(), Fault> {
        self.bytes += calls.iter().map(|call| call.args.len()).sum::<usize>();
        self.matched.ask(&calls, at);
        let calls = List::new(calls).map_err(|many| too_long(at, &many))?;
        self.say(Role::Assistant, text, at)?;
        if let Some(message) = self.messages.last_mut() {
            message.calls = calls;
        }
        Ok(())
    }

    /// Adds a call to what the assistant said last, or to a message of its own.
    ///
    /// # Errors
    /// It does not fit.
    pub fn ask(&mut self, call: Asked, at: &str) -> Result<(), Fault> {
        if let Some(last) = self.messages.last_mut().filter(|last| last.role == Role::Assistant) {
            self.bytes += call.args.len();
            self.matched.ask(std::slice::from_ref(&call), at);
            last.calls.push(call).map_err(|many| too_long(at, &many))?;
            return self.fits();
        }
        self.reply(String::new(), vec![call], at)
    }

    /// Adds what a tool answered to the call of this id.
    ///
    /// # Errors
    /// It does not fit.
    pub fn answer(&mut self, id: &str, text: String, at: &str) -> Result<(), Fault> {
        self.say(Role::Tool, text, at)?;
        let id = ids::call(id);
        self.matched.answer(id, at);
        if let Some(message) = self.messages.last_mut() {
            message.answers = Some(id);
        }
        Ok(())
    }

    /// Adds an image to the last message.
    ///
    /// # Errors
    /// It is no image that models know, or does not fit.
    pub fn show(&mut self, picture: Picture, at: &str) -> Result<(), Fault> {
        let bytes = Blob::new(picture.bytes).map_err(|long| too_long(at, &long))?;
        self.bytes += bytes.len();
        if self.images.len() >= IMAGES {
            return Err(Fault::bad(at, format!("There are more than {IMAGES} images.")));
        }
        let message = self.messages.len().checked_sub(1).and_then(|last| u16::try_from(last).ok());
        let message = message.ok_or_else(|| Fault::bad(at, "An image belongs to no message."))?;
        self.images.push(Image { message, media: Text::clip(&picture.media), bytes });
        self.fits()
    }

    fn fits(&self) -> Result<(), Fault> {
        if self.bytes <= REQUEST_BOUND {
            return Ok(());
        }
        let message = format!("Text and images together are over the bound of {REQUEST_BOUND} bytes.");
        Err(Fault::new(Kind::Large, message).about("messages"))
    }

    /// The whole request.
    ///
    /// # Errors
    /// There is no message, one of the options is out of its range, or calls and their results are not each other's.
    pub fn request(self, options: Options) -> Result<Request, Fault> {
        if self.messages.is_empty() {
            return Err(Fault::bad("messages", "There must be at least one message."));
        }
        // An agent knows the conversation from its session, and has tools of its own.
        if !options.model.starts_with(AGENT) {
            self.matched.whole()?;
        }
        let (field, max_output) = options.max_output.unwrap_or(("max_tokens", OUTPUT));
        if max_output == 0 || max_output > OUTPUT_BOUND {
            return Err(Fault::bad(field, format!("It must be from 1 to {OUTPUT_BOUND}.")));
        }
        let (field, stop) = options.stop;
        if stop.iter().any(String::is_empty) {
            return Err(Fault::bad(field, "A text that ends the answer must not be empty."));
        }
        let stop = stop.into_iter().map(Text::new).collect::<Result<Vec<_>, _>>();
        let stop = stop.and_then(List::new).map_err(|long| too_long(field, &long))?;
        let choice = matched::choice(options.choice, &options.tools, options.others)?;
        let tools = List::new(options.tools)
            .map_err(|_| Fault::bad("tools", format!("There are more than {TOOLS} tools.")))?;
        let model = Text::new(options.model).map_err(|long| too_long("model", &long))?;
        let messages = List::new(self.messages).map_err(|many| too_long("messages", &many))?;
        Ok(Request {
            tools,
            max_output,
            temperature: thousandths("temperature", options.temperature, 2.0)?,
            top_p: thousandths("top_p", options.top_p, 1.0)?,
            stop,
            choice,
            think: options.think,
            images: List::clip(self.images),
            ..Request::new(model, messages, nobody())
        })
    }
}

/// Stands where the gate says who pays.
pub const fn nobody() -> Payer {
    Payer::of(UserId::from_bytes([0; 16]))
}

fn too_long(at: &str, why: &ipc_proto::bounded::TooLong) -> Fault {
    Fault::bad(at, format!("Too long: {why}."))
}

/// A number in thousandths.
fn thousandths(field: &'static str, value: Option<f64>, most: f64) -> Result<Option<u16>, Fault> {
    let Some(value) = value else { return Ok(None) };
    if !(0.0..=most).contains(&value) {
        return Err(Fault::bad(field, format!("It must be from 0 to {most}.")));
    }
    // Exact: at most 2,000, and counted up to rather than cast.
    Ok((0..=2000_u16).rev().find(|thousandth| f64::from(*thousandth) <= (value * 1000.0).round()))
}

/// A tool as a client describes it; its schema with the name that the vendor has for it.
///
/// # Errors
/// It does not fit.
pub fn tool(
    name: &str,
    description: Option<&str>,
    (field, schema): (&str, Option<&Value>),
    at: &str,
) -> Result<ToolSpec, Fault> {
    let name = tool_name(name, &format!("{at}.name"))?;
    let schema = schema.filter(|schema| !schema.is_null());
    if schema.is_some_and(|schema| !schema.is_object()) {
        return Err(invalid_type(&format!("{at}.{field}"), "it must be an object, a JSON Schema"));
    }
    let schema = schema.map_or_else(|| r#"{"type":"object","properties":{}}"#.to_owned(), Value::to_string);
    Ok(ToolSpec {
        name,
        description: Text::new(description.unwrap_or_default())
            .map_err(|long| too_long(&format!("{at}.description"), &long))?,
        schema: Text::new(schema).map_err(|long| too_long(&format!("{at}.{field}"), &long))?,
        in_jail: false,
    })
}

/// A field that must be there and is not, in the first vendor's words.
#[must_use]
pub fn missing(at: &str) -> Fault {
    Fault::bad(at, format!("Missing required parameter: '{at}'.")).coded("missing_required_parameter")
}

/// A field that is of another type than it must be.
#[must_use]
pub fn invalid_type(at: &str, must: &str) -> Fault {
    Fault::bad(at, format!("Invalid type or value for '{at}': {must}.")).coded("invalid_type")
}

/// The name of a tool.
///
/// # Errors
/// It is empty or does not fit.
pub fn tool_name(name: &str, at: &str) -> Result<Name, Fault> {
    let name = Name::new(name).map_err(|long| too_long(at, &long))?;
    if name.is_empty() { Err(Fault::bad(at, "A tool needs a name.")) } else { Ok(name) }
}

/// A block of reasoning as a client hands it back; `by` this model, as far as its name says.
///
/// # Errors
/// It does not fit.
pub fn thought(model: &str, text: String, seal: String, hidden: bool, at: &str) -> Result<Thought, Fault> {
    let by = model.split_once('/').map_or("", |(_, name)| name);
    Ok(Thought {
        by: Text::clip(by),
        text: Text::new(text).map_err(|long| too_long(at, &long))?,
        seal: Text::new(seal).map_err(|long| too_long(at, &long))?,
        hidden,
        ..Thought::default()
    })
}

/// A call as it stands in a conversation.
///
/// # Errors
/// It does not fit.
pub fn asked(id: &str, tool: &str, args: String, at: &str) -> Result<Asked, Fault> {
    let args = if args.trim().is_empty() { "{}".to_owned() } else { args };
    Ok(Asked {
        id: ids::call(id),
        tool: tool_name(tool, at)?,
        args: Text::new(args).map_err(|long| too_long(at, &long))?,
    })
}

/// An image that came with a message.
#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    media: String,
    bytes: Vec<u8>,
}

/// An image in base64.
///
/// # Errors
/// It is none that models know.
pub fn picture(media: &str, data: &str, at: &str) -> Result<Picture, Fault> {
    if !IMAGE_TYPES.contains(&media) {
        return Err(Fault::bad(at, format!("An image must be one of {}.", IMAGE_TYPES.join(", "))));
    }
    if data.len() / 4 * 3 > MEDIA_BOUND + 3 {
        return Err(Fault::bad(at, format!("An image is over the bound of {MEDIA_BOUND} bytes.")));
    }
    let bytes = STANDARD.decode(data).map_err(|_| Fault::bad(at, "An image is not in base64."))?;
    if bytes.is_empty() {
        return Err(Fault::bad(at, "An image is empty."));
    }
    Ok(Picture { media: media.to_owned(), bytes })
}

/// An image at an address: only one that holds the image itself.
///
/// # Errors
/// The address leads elsewhere, or the image is none that models know.
pub fn picture_at(url: &str, at: &str) -> Result<Picture, Fault> {
    let Some(rest) = url.strip_prefix("data:") else {
        let message =
            "Images are not fetched from an address: send the image itself as a data: URL with base64.";
        return Err(Fault::bad(at, message).coded("invalid_image_url"));
    };
    match rest.split_once(',').and_then(|(head, data)| Some((head.strip_suffix(";base64")?, data))) {
        Some((head, data)) => picture(head.split(';').next().unwrap_or_default(), data, at),
        None => Err(Fault::bad(at, "A data: URL must hold its image in base64.").coded("invalid_image_url")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options { model: "a/b".into(), ..Options::default() }
    }

    fn drafted() -> Draft {
        let mut draft = Draft::default();
        draft.say(Role::User, "hello".into(), "messages[0]").unwrap();
        draft
    }

    #[test]
    fn an_option_out_of_its_range_is_refused_by_name() {
        let of = |change: fn(&mut Options)| {
            let mut options = options();
            change(&mut options);
            drafted().request(options)
        };
        assert_eq!(of(|it| it.temperature = Some(0.7)).unwrap().temperature, Some(700));
        assert_eq!(of(|it| it.top_p = Some(1.0)).unwrap().top_p, Some(1000));
        assert_eq!(of(|_| ()).unwrap().max_output, OUTPUT);
        assert!(of(|it| it.temperature = Some(2.1)).is_err());
        assert!(of(|it| it.top_p = Some(-0.1)).is_err());
        assert!(of(|it| it.max_output = Some(("max_tokens", 0))).is_err());
        assert!(of(|it| it.stop = ("stop", vec!["s".into(); 9])).is_err());
        assert!(of(|it| it.model = "m".repeat(129)).is_err());
        assert!(Draft::default().request(options()).is_err());
    }

    #[test]
    fn calls_and_what_tools_answered_keep_the_client_s_own_ids_together() {
        let mut draft = drafted();
        draft.ask(asked("mine-1", "read", "{\"a\":1}".into(), "x").unwrap(), "x").unwrap();
        draft.ask(asked("mine-2", "read", String::new(), "x").unwrap(), "x").unwrap();
        draft.answer("mine-2", "two".into(), "x").unwrap();
        draft.answer("mine-1", "one".into(), "x").unwrap();
        let request = draft.request(options()).unwrap();
        let [_, reply, answer, _] = &request.messages[..] else { panic!("{:?}", request.messages) };
        assert_eq!(reply.calls.len(), 2);
        assert_eq!((reply.calls[1].args.as_str(), answer.answers), ("{}", Some(reply.calls[1].id)));
    }

    // Holds B-153, P3-44.
    #[test]
    fn an_image_is_taken_from_its_own_bytes_and_from_no_address() {
        let url = format!("data:image/png;base64,{}", STANDARD.encode([1, 2, 3]));
        let picture = picture_at(&url, "x").unwrap();
        assert_eq!((picture.media.as_str(), picture.bytes.as_slice()), ("image/png", &[1, 2, 3][..]));
        for url in [
            "https://example.com/a.png",
            "data:image/png,abc",
            "data:text/html;base64,QQ==",
            "data:image/png;base64,?",
            "data:image/png;base64,",
        ] {
            assert!(picture_at(url, "x").is_err(), "{url}");
        }
        let mut draft = drafted();
        for _ in 0..IMAGES {
            draft.show(picture_at(&url, "x").unwrap(), "x").unwrap();
        }
        assert!(draft.show(picture_at(&url, "x").unwrap(), "x").is_err());
    }

    // Holds B-153.
    #[test]
    fn what_is_over_the_bounds_together_is_refused() {
        let mut draft = Draft::default();
        let part = "a".repeat(1 << 20);
        for _ in 0..4 {
            draft.say(Role::User, part.clone(), "x").unwrap();
        }
        assert_eq!(draft.say(Role::User, "a".into(), "x").unwrap_err().kind(), Kind::Large);
        assert!(Draft::default().say(Role::User, "a".repeat(2 << 20), "x").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_address_is_an_image_or_refused(url in "(data:)?.{0,40}") {
            let _ = picture_at(&url, "x");
        }

        #[test]
        fn a_share_in_thousandths_is_the_nearest(value in 0.0..=2.0_f64) {
            let found = f64::from(thousandths("temperature", Some(value), 2.0).unwrap().unwrap());
            proptest::prop_assert!((found - value * 1000.0).abs() <= 0.5);
        }
    }
}
