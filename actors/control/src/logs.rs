//! Pieces of the log files that agentd keeps: whole lines, by byte offset. It reads beneath the log folder alone,
//! and only files whose names stand in the table.

use ipc_proto::Text;
use ipc_proto::control::LogChunk;
use manifest::Process;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes in one piece.
const PIECE: usize = 64 * 1024;

/// Every name that has a log.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    Process::ALL.into_iter().map(Process::name)
}

/// The file of this name; `None` if there is no such process.
pub(crate) fn file(folder: &Path, name: &str) -> Option<PathBuf> {
    let name = names().find(|known| *known == name)?;
    Some(folder.join(format!("{name}.log")))
}

/// Whole lines from byte `from` on, or the last 64 KiB. A file that is shorter than `from` was begun anew, and is
/// read from its beginning; a file that is not there yet is empty.
pub(crate) fn read(path: &Path, from: Option<u64>) -> io::Result<LogChunk> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(LogChunk { text: Text::default(), next: 0 });
        }
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let last = length.saturating_sub(PIECE as u64);
    let start = from.map_or(last, |from| if from > length { 0 } else { from });
    let bytes = piece(&file, start)?;
    // The last 64 KiB begin in the middle of a line.
    let (lines, used) = whole_lines(&bytes, from.is_none() && start > 0);
    let text = Text::clip(&String::from_utf8_lossy(lines));
    Ok(LogChunk { text, next: start + used as u64 })
}

fn piece(file: &File, start: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; PIECE];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read_at(room, start + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The whole lines of a piece, and how much of it is used up. A piece that is full and has no line's end is given
/// as it is, so that a reader always gets on.
fn whole_lines(bytes: &[u8], in_a_line: bool) -> (&[u8], usize) {
    let is_end = |byte: &u8| *byte == b'\n';
    let begin = if in_a_line { bytes.iter().position(is_end).map_or(bytes.len(), |at| at + 1) } else { 0 };
    let end = match bytes.iter().rposition(is_end) {
        Some(at) => at + 1,
        None if bytes.len() == PIECE => PIECE,
        None => begin,
    };
    let end = end.max(begin);
    (bytes.get(begin..end).unwrap_or_default(), end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn log(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "router").unwrap();
        fs::write(&path, content).unwrap();
        (folder, path)
    }

    fn follow(path: &Path, mut from: u64) -> (String, u64) {
        let mut all = String::new();
        loop {
            let chunk = read(path, Some(from)).unwrap();
            if chunk.text.is_empty() {
                return (all, chunk.next);
            }
            all.push_str(&chunk.text);
            from = chunk.next;
        }
    }

    #[test]
    fn only_names_of_the_table_have_a_log() {
        let folder = Path::new("/logs");
        assert_eq!(file(folder, "agentd"), Some("/logs/agentd.log".into()));
        assert_eq!(file(folder, "audit"), Some("/logs/audit.log".into()));
        for bad in ["", "../audit/record", "audit.log", "Audit", "agentd\0", "/etc/passwd"] {
            assert_eq!(file(folder, bad), None, "{bad}");
        }
    }

    #[test]
    fn a_line_is_given_once_it_is_whole() {
        let (_folder, path) = log(b"one\ntwo\nthr");
        assert_eq!(follow(&path, 0), ("one\ntwo\n".to_owned(), 8));
        fs::write(&path, b"one\ntwo\nthree\n").unwrap();
        assert_eq!(follow(&path, 8), ("three\n".to_owned(), 14));
    }

    #[test]
    fn a_missing_log_is_empty_and_a_new_one_is_read_from_its_start() {
        let (folder, path) = log(b"new\n");
        assert_eq!(follow(&path, 1_000_000), ("new\n".to_owned(), 4));
        assert_eq!(follow(&path, u64::MAX), ("new\n".to_owned(), 4));
        let none = read(&folder.path().join("none.log"), Some(9)).unwrap();
        assert_eq!((none.text.len(), none.next), (0, 0));
    }

    #[test]
    fn without_an_offset_the_last_whole_lines_of_64_kib_are_given() {
        let lines: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let (_folder, path) = log(lines.as_bytes());
        let chunk = read(&path, None).unwrap();
        assert!(chunk.text.starts_with("line ") && chunk.text.ends_with("line 19999\n"));
        assert!(chunk.text.len() > PIECE - 16 && lines.ends_with(chunk.text.as_str()));
        assert_eq!(chunk.next, lines.len() as u64);
        let (_folder, short) = log(b"first\nsecond\n");
        assert_eq!(read(&short, None).unwrap().text.as_str(), "first\nsecond\n");
    }

    #[test]
    fn a_line_longer_than_a_piece_does_not_stop_the_reader() {
        let (_folder, path) = log(&[vec![b'x'; PIECE + 10], b"\nend\n".to_vec()].concat());
        let (all, next) = follow(&path, 0);
        assert_eq!((all.len(), next), (PIECE + 15, PIECE as u64 + 15));
    }

    proptest! {
        #[test]
        fn following_gives_every_whole_line_once(lines in prop::collection::vec("[a-zäß]{0,300}", 0..600), rest in "[a-z]{0,9}") {
            let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let (_folder, path) = log(format!("{whole}{rest}").as_bytes());
            prop_assert_eq!(follow(&path, 0), (whole.clone(), whole.len() as u64));
        }

        #[test]
        fn any_bytes_and_any_offset_give_a_piece_and_never_go_back(bytes: Vec<u8>, from: u16) {
            let (_folder, path) = log(&bytes);
            let from = u64::from(from) % (bytes.len() as u64 + 1);
            let chunk = read(&path, Some(from)).unwrap();
            prop_assert!(chunk.next >= from && chunk.next <= bytes.len() as u64);
        }
    }
}
