//! Tests of the folder: a sound one is read, and a fault is refused by name, whatever its header says.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../../tests/src/model.rs"]
mod model;

use std::fs;
use std::path::Path;
use tempfile::TempDir;
use weights::{Folder, Model, Unusable};

fn tiny() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    model::write(folder.path(), 7).unwrap();
    folder
}

fn read(folder: &Path) -> Result<Model, Unusable> {
    Folder::open(folder)?.read(|_| {})
}

fn change(folder: &Path, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(folder.join(file)).unwrap();
    change(&mut bytes);
    fs::write(folder.join(file), bytes).unwrap();
}

/// The same text with another in the place of one.
fn replaced(bytes: &mut Vec<u8>, old: &str, new: &str) {
    let at = bytes.windows(old.len()).position(|found| found == old.as_bytes()).unwrap();
    bytes.splice(at..at + old.len(), new.bytes());
}

#[test]
fn a_whole_model_is_read_tensor_by_tensor_and_again_with_the_same_hash() {
    let folder = tiny();
    let opened = Folder::open(folder.path()).unwrap();
    let mut names = Vec::new();
    let model = opened.read(|tensor| names.push((tensor.name, tensor.bytes.len()))).unwrap();
    assert_eq!(names.len(), 5 + 2 * 16);
    assert!(names.contains(&("encoder.layer.1.intermediate.dense.weight".to_owned(), 4 * 16 * 32)));
    assert_eq!((model.form.width, model.form.layers, model.hash.len()), (16, 2, 16));
    assert_eq!(opened.read(|_| {}).unwrap().hash, model.hash);
}

#[test]
fn another_number_or_another_word_is_another_model() {
    let (one, other, third) = (tiny(), tiny(), tiny());
    change(other.path(), "model.safetensors", |bytes| *bytes.last_mut().unwrap() ^= 1);
    change(third.path(), "vocab.txt", |bytes| replaced(bytes, "##z", "##é"));
    let hashes = [one, other, third].map(|folder| read(folder.path()).unwrap().hash);
    assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2]);
}

#[test]
fn names_that_a_head_put_before_its_tensors_are_passed_over() {
    let folder = tiny();
    change(folder.path(), "model.safetensors", |bytes| {
        let long = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
        let header = String::from_utf8(bytes[8..8 + long].to_vec()).unwrap();
        let header =
            header.replace("\"embeddings", "\"bert.embeddings").replace("\"encoder", "\"bert.encoder");
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        *bytes = [&length[..], header.as_bytes(), &bytes[8 + long..]].concat();
    });
    let mut names = Vec::new();
    Folder::open(folder.path()).unwrap().read(|tensor| names.push(tensor.name)).unwrap();
    assert!(names.contains(&"embeddings.LayerNorm.bias".to_owned()));
}

// Holds B-112, P5-17.
#[test]
fn what_is_missing_cut_or_of_another_kind_is_refused_by_its_name() {
    type Harm = fn(&mut Vec<u8>);
    let cases: &[(&str, Harm, &str)] = &[
        ("config.json", |it| it.clear(), "no JSON"),
        ("config.json", |it| replaced(it, "\"bert\"", "\"llama\""), "of the kind llama"),
        (
            "config.json",
            |it| replaced(it, "\"hidden_size\":16", "\"hidden_size\":0"),
            "hidden_size is 0; it may be 1 to 1024",
        ),
        (
            "config.json",
            |it| replaced(it, "\"hidden_size\":16", "\"hidden_size\":17"),
            "share hidden_size evenly",
        ),
        ("config.json", |it| replaced(it, "\"hidden_size\":16", "\"hidden_size\":18"), "is [56, 16] of F32"),
        ("config.json", |it| replaced(it, "\"gelu\"", "\"swish\""), "does not describe a BERT"),
        ("config.json", |it| replaced(it, "_layers\":2", "_layers\":3"), "no tensor encoder.layer.2."),
        ("config.json", |it| replaced(it, "vocab_size\":56", "vocab_size\":199999"), "is [56, 16] of F32"),
        ("vocab.txt", |it| replaced(it, "[SEP]", "[sep]"), "lacks one of [UNK], [CLS] and [SEP]"),
        ("vocab.txt", |it| it.extend(b"\nmore"), "more words than config.json says"),
        ("vocab.txt", |it| it.push(0xff), "no UTF-8"),
        ("model.safetensors", |it| it.truncate(5), "its header is not there"),
        ("model.safetensors", |it| it.truncate(600), "its header is longer than the file"),
        ("model.safetensors", |it| it.truncate(it.len() - 1), "it was cut or added to"),
        ("model.safetensors", |it| it.push(0), "it was cut or added to"),
        ("model.safetensors", |it| it[..8].fill(0xff), "its header is longer than the file"),
        ("model.safetensors", |it| it[8] = b'[', "its header is no JSON"),
        ("model.safetensors", |it| replaced(it, "\"F32\"", "\"I32\""), "of I32; config.json wants"),
        ("model.safetensors", |it| replaced(it, "[16]", "[61]"), "do not fit their sizes"),
        ("model.safetensors", |it| replaced(it, "\"data_offsets\":[0,", "\"data_offsets\":[4,"), "overlap"),
        ("model.safetensors", |it| replaced(it, "LayerNorm", "LayerNone"), "no tensor embeddings.LayerNorm"),
    ];
    for (file, harm, why) in cases {
        let folder = tiny();
        change(folder.path(), file, harm);
        let said = read(folder.path()).unwrap_err().to_string();
        assert!(said.contains(why), "{file}: {said}, and not {why}");
    }
}

#[test]
fn words_of_which_none_stands_for_the_unknown_are_refused() {
    let folder = tiny();
    let vocabulary = r#"{"[UNK]":0,"[CLS]":1,"[SEP]":2}"#;
    let words = format!(r#"{{"model":{{"type":"WordPiece","unk_token":"<unk>","vocab":{vocabulary}}}}}"#);
    fs::write(folder.path().join("tokenizer.json"), words).unwrap();
    let said = read(folder.path()).unwrap_err().to_string();
    assert!(said.contains("the piece that stands for unknown words"), "{said}");
}

// Holds P5-17.
#[test]
fn a_header_that_asks_for_more_than_there_is_makes_no_room_for_it() {
    let folder = tiny();
    let header = r#"{"embeddings.word_embeddings.weight":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}}"#;
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let file = [&length[..], header.as_bytes(), &[0; 8]].concat();
    fs::write(folder.path().join("model.safetensors"), file).unwrap();
    assert!(matches!(read(folder.path()), Err(Unusable::NoHeader(_))));
}

#[test]
fn a_missing_file_is_named_and_a_pipe_is_not_waited_for() {
    for (file, said) in
        [("config.json", "config.json"), ("vocab.txt", "vocab.txt"), ("model.safetensors", "model.")]
    {
        let folder = tiny();
        fs::remove_file(folder.path().join(file)).unwrap();
        let missing = read(folder.path()).unwrap_err().to_string();
        assert!(missing.starts_with(said) && missing.contains("cannot be read"), "{missing}");
        fs::create_dir(folder.path().join(file)).unwrap();
        assert!(matches!(read(folder.path()), Err(Unusable::NotRegular(_))), "{file}");
    }
    assert!(read(Path::new("/nowhere")).unwrap_err().to_string().starts_with("config.json"));
}
