//! Sources of a provider's key: a variable, a file, standard input, or a prompt without echo; never an argument, which
//! everybody on the machine can read.

use crate::failure::Failure;
use crate::secret_input;
use ipc_proto::bounded::TooLong;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Bytes of a key.
const BOUND: usize = 8 * 1024;

/// The source of the key.
#[derive(clap::Args)]
#[group(multiple = false)]
pub(super) struct Source {
    /// The environment variable that holds the key
    #[arg(long, value_name = "VARIABLE")]
    secret_env: Option<String>,
    /// The file that holds the key
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Read the key from standard input
    #[arg(long)]
    secret_stdin: bool,
}

impl Source {
    /// The key; `None` if there is no source and nobody to ask, or the person gives none.
    pub(super) fn read(&self, provider: &str, person: bool) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
        // Allocated at once: a buffer that grows leaves copies behind.
        let mut value = Zeroizing::new(Vec::with_capacity(BOUND + 2));
        if let Some(name) = &self.secret_env {
            let found = std::env::var_os(name).ok_or_else(|| Failure::Usage(format!("{name} is not set")))?;
            value.extend_from_slice(Zeroizing::new(found.into_encoded_bytes()).as_slice());
        } else if let Some(path) = &self.secret_file {
            let unreadable = |cause| Failure::File { path: path.clone(), cause };
            take(File::open(path).map_err(unreadable)?, &mut value).map_err(unreadable)?;
        } else if self.secret_stdin {
            take(std::io::stdin(), &mut value)?;
        } else if person {
            let question = format!("Key of {provider} (not shown; empty to give it later): ");
            secret_input::hidden(&question, &mut value, BOUND + 2)?;
        } else {
            return Ok(None);
        }
        checked(value, person)
    }
}

fn take(from: impl Read, value: &mut Vec<u8>) -> std::io::Result<usize> {
    from.take(BOUND as u64 + 2).read_to_end(value)
}

/// Without the line break at its end.
fn checked(mut value: Zeroizing<Vec<u8>>, person: bool) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
    for end in [b'\n', b'\r'] {
        if value.last() == Some(&end) {
            value.pop();
        }
    }
    match value.len() {
        0 if person => Ok(None),
        0 => Err(Failure::Usage("the key is empty".to_owned())),
        given if given > BOUND => {
            let why = TooLong { what: "bytes", given, bound: BOUND };
            Err(Failure::TooLong { what: "the key", why })
        }
        _ => Ok(Some(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], person: bool) -> Result<Option<Vec<u8>>, Failure> {
        let mut value = Zeroizing::new(Vec::new());
        take(text, &mut value).unwrap();
        checked(value, person).map(|value| value.map(|value| value.to_vec()))
    }

    #[test]
    fn a_key_is_taken_without_its_line_break_and_neither_empty_nor_too_long() {
        assert_eq!(read(b"sk-1\n", false).unwrap(), Some(b"sk-1".to_vec()));
        assert_eq!(read(b"sk-1\r\n", false).unwrap(), Some(b"sk-1".to_vec()));
        assert!(matches!(read(b"\n", false), Err(Failure::Usage(_))));
        assert_eq!(read(b"", true).unwrap(), None, "a person may give it later");
        assert!(matches!(read(&[b'x'; BOUND + 1], true), Err(Failure::TooLong { .. })));
    }
}
