//! Each provider's stream as its documentation has it, replayed: cut at every byte, byte by byte, at any places, and
//! broken off at every byte. `tests/streams` holds one of each.
#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test that cannot go on fails")]

use dialect::Reader;
use ipc_proto::Name;
use ipc_proto::config::ProviderKind;
use ipc_proto::model::{Finish, ModelError, Piece, Usage};
use proptest::prelude::*;

const STREAMS: [(ProviderKind, &str); 4] = [
    (ProviderKind::Openai, include_str!("streams/openai.txt")),
    (ProviderKind::Responses, include_str!("streams/responses.txt")),
    (ProviderKind::Anthropic, include_str!("streams/anthropic.txt")),
    (ProviderKind::Ollama, include_str!("streams/ollama.txt")),
];

/// An answer, whatever it was cut into.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    text: String,
    calls: Vec<(Name, String)>,
    ends: usize,
    usage: Usage,
    finish: Option<Finish>,
}

fn read<'a>(kind: ProviderKind, parts: impl IntoIterator<Item = &'a [u8]>) -> Result<Answer, ModelError> {
    let mut reader = Reader::new(kind, 1, 8000);
    let mut pieces = Vec::new();
    for part in parts {
        if reader.is_last() {
            break;
        }
        reader.feed(part)?;
        pieces.extend(reader.ready());
    }
    pieces.extend(reader.end()?);
    let (text, calls) = (String::new(), Vec::new());
    let mut answer = Answer { text, calls, ends: 0, usage: Usage::default(), finish: None };
    for piece in pieces {
        assert_eq!(answer.finish, None, "nothing follows the end");
        match piece {
            Piece::Text(text) => answer.text.push_str(&text),
            Piece::CallStart { index, tool } => {
                assert_eq!(usize::from(index), answer.calls.len());
                answer.calls.push((tool, String::new()));
            }
            Piece::CallDelta { index, args } => answer.calls[usize::from(index)].1.push_str(&args),
            Piece::CallEnd { .. } => answer.ends += 1,
            Piece::Usage(usage) => answer.usage = usage,
            Piece::Done(finish) => answer.finish = Some(finish),
            Piece::Reasoning(_) | Piece::Thought { .. } | Piece::ThoughtEnd { .. } => {}
            Piece::Failover { .. } | Piece::OverBudget { .. } | Piece::Failed(_) => panic!("{piece:?}"),
        }
    }
    Ok(answer)
}

fn expected() -> Answer {
    Answer {
        text: "Höher 😀".to_owned(),
        calls: vec![(Name::clip("read"), r#"{"path":"é"}"#.to_owned())],
        ends: 1,
        usage: Usage { input: 11, output: 7, cache_read: 4, ..Usage::default() },
        finish: Some(Finish::ToolUse),
    }
}

/// The answer in the stream of this kind: Ollama knows no cache.
fn whole(kind: ProviderKind) -> Answer {
    let mut answer = expected();
    if kind == ProviderKind::Ollama {
        answer.usage.cache_read = 0;
    }
    answer
}

// Holds P9-01.
#[test]
fn the_same_answer_comes_wherever_a_providers_stream_is_cut() {
    for (kind, stream) in STREAMS {
        assert_eq!(read(kind, stream.as_bytes().chunks(1)), Ok(whole(kind)), "{kind:?}");
        for at in 0..=stream.len() {
            let (first, second) = stream.as_bytes().split_at(at);
            assert_eq!(read(kind, [first, second]), Ok(whole(kind)), "{kind:?} at {at}");
        }
    }
}

#[test]
fn the_line_ends_of_a_stream_may_be_any() {
    for (kind, stream) in STREAMS {
        for end in ["\r\n", "\r"] {
            let stream = stream.replace('\n', end);
            assert_eq!(read(kind, stream.as_bytes().chunks(7)), Ok(whole(kind)), "{kind:?} {end:?}");
        }
    }
}

// Holds P9-01.
#[test]
fn a_stream_that_breaks_off_anywhere_is_never_half_an_answer() {
    for (kind, stream) in STREAMS {
        let mut finished = 0;
        for at in 0..stream.len() {
            match read(kind, [&stream.as_bytes()[..at]]) {
                // Only the parts after the reason of its end may be missing: tokens, and the last line.
                Ok(answer) => {
                    let told = (answer.text, answer.calls, answer.ends, answer.finish);
                    let whole = whole(kind);
                    assert_eq!(told, (whole.text, whole.calls, whole.ends, whole.finish), "{kind:?} at {at}");
                    finished += 1;
                }
                Err(error) => {
                    assert_eq!(error, ModelError::Truncated, "{kind:?} at {at}");
                    assert_eq!(finished, 0, "{kind:?} at {at}");
                }
            }
        }
        assert!(finished < stream.len() / 2, "{kind:?}: {finished}");
    }
}

proptest! {
    #[test]
    fn the_same_answer_comes_however_often_a_stream_is_cut(which in 0usize..4, cuts in prop::collection::vec(0usize..4000, 0..20)) {
        let (kind, stream) = STREAMS[which];
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|cut| &stream.as_bytes()[cut[0]..cut[1]]);
        prop_assert_eq!(read(kind, parts), Ok(whole(kind)));
    }

    #[test]
    fn a_stream_with_a_byte_that_is_another_ends_by_itself(which in 0usize..4, at in 0usize..4000, byte: u8) {
        let (kind, stream) = STREAMS[which];
        let mut bytes = stream.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        // In any answer, a call that ends is a whole object.
        if let Ok(answer) = read(kind, bytes.chunks(64)) {
            prop_assert!(answer.finish.is_some());
            for (_, args) in answer.calls.iter().take(answer.ends) {
                prop_assert!(args.trim().starts_with('{') && args.trim().ends_with('}'), "{args}");
            }
        }
    }

    #[test]
    fn any_bytes_at_all_are_read_without_panic(which in 0usize..4, bytes: Vec<u8>, cut in 1usize..9) {
        let _ = read(STREAMS[which].0, bytes.chunks(cut));
    }
}
