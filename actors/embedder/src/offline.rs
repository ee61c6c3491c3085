//! `embedder --offline check FOLDER`: says if the model there can be used. `embedder --offline vectors FOLDER`: the
//! lines of an evaluation, each with the vector of its text or question beside it. `agentctl memory eval --embedder`
//! executes this between the lines and memory's own program. A line that is not understood is passed on as it is:
//! memory reports its fault by its number. It opens the model's files alone.

use crate::model::{Fault, Model};
use ipc_proto::json;
use ipc_proto::memory::EVALUATION_LINE;
use serde_json::Value;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use weights::Folder;

const USAGE: u8 = 64;

/// Runs offline.
pub(crate) fn run(args: impl Iterator<Item = String>) -> ExitCode {
    let args: Vec<String> = args.collect();
    let [command, folder] = args.as_slice() else { return misused() };
    let vectors = match command.as_str() {
        "vectors" => true,
        "check" => false,
        _ => return misused(),
    };
    // Nothing is sealed here: the libraries may use every core.
    match Folder::open(Path::new(folder)).map_err(Fault::from).and_then(|folder| Model::load(&folder)) {
        Ok(model) => {
            if vectors {
                // If this fails, the reader is gone, and reports the reason itself.
                drop(with_vectors(&model, io::stdin().lock(), io::stdout().lock()));
            }
            ExitCode::SUCCESS
        }
        Err(fault) => {
            drop(writeln!(io::stderr(), "embedder: {fault}"));
            ExitCode::FAILURE
        }
    }
}

fn misused() -> ExitCode {
    drop(writeln!(io::stderr(), "usage: embedder --offline check|vectors FOLDER"));
    ExitCode::from(USAGE)
}

/// Copies lines, each as soon as it is there.
fn with_vectors(model: &Model, from: impl BufRead, mut to: impl Write) -> io::Result<()> {
    for (number, line) in from.split(b'\n').enumerate() {
        let line = line?;
        let line = if number == 0 { json::unmarked(&line) } else { &line };
        let line_out = if line.len() > EVALUATION_LINE { None } else { with_vector(model, line) };
        to.write_all(line_out.as_deref().unwrap_or(line))?;
        to.write_all(b"\n")?;
        to.flush()?;
    }
    Ok(())
}

/// The line with a vector; none where there is none to be made.
fn with_vector(model: &Model, line: &[u8]) -> Option<Vec<u8>> {
    let mut line = line.to_vec();
    json::mend(&mut line);
    let mut object: Value = serde_json::from_slice(&line).ok()?;
    let text = object.get("text").or_else(|| object.get("question"))?.as_str()?;
    let vector: Result<Vec<f32>, Fault> = model.vector(text);
    object.as_object_mut()?.insert("vector".to_owned(), vector.ok()?.into());
    serde_json::to_vec(&object).ok()
}
