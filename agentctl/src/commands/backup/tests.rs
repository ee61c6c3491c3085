//! Tampering: each change of a backup is refused with its own reason and the part that is still trustworthy.

use super::contents::{Contents, FORMAT, Kind, LeftOut, Member, NAME};
use super::keys::{OpenWith, SealWith};
use super::{read, write};
use crate::failure::Failure;
use crate::failure::backup::Fault;
use age::secrecy::ExposeSecret;
use age::x25519::Identity;
use clap::Parser;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Both ends' arguments.
#[derive(Parser)]
struct Ends {
    #[command(flatten)]
    seal: SealWith,
    #[command(subcommand)]
    open: Open,
}

#[derive(clap::Subcommand)]
enum Open {
    With {
        #[command(flatten)]
        with: OpenWith,
    },
}

/// A copy of a state, and a key.
struct Case {
    folder: TempDir,
    identity: Identity,
    contents: Contents,
}

fn member(path: &str, kind: Kind, size: u64) -> Member {
    Member {
        path: path.to_owned(),
        kind,
        mode: 0o640,
        modified: 7,
        size,
        stored: size,
        sha256: String::new(),
    }
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let staged = folder.path().join("staged");
        let deep = format!("runner/{}", "long-name-".repeat(20));
        fs::create_dir_all(staged.join("runner")).unwrap();
        fs::write(staged.join("runner/big"), vec![7; 300_000]).unwrap();
        fs::write(staged.join(&deep), "a name that is too long for a head").unwrap();
        fs::write(staged.join("runner/last"), vec![8; 300_000]).unwrap();
        let members = vec![
            member("runner", Kind::Folder, 0),
            member("runner/big", Kind::File, 0),
            member(&deep, Kind::File, 0),
            member("runner/last", Kind::File, 0),
        ];
        let mut contents = Contents {
            format: FORMAT,
            cordon: "0".to_owned(),
            made_ms: 1,
            secrets: false,
            schemas: BTreeMap::new(),
            checkpoint: Some("a note".to_owned()),
            members,
            left_out: vec![LeftOut { path: "runner/link".to_owned(), why: "a link".to_owned() }],
        };
        write::sum(&mut contents.members, &staged).unwrap();
        let identity = Identity::generate();
        let text = format!("# a key\n\n{}\n", identity.to_string().expose_secret());
        fs::write(folder.path().join("identity"), text).unwrap();
        Self { folder, identity, contents }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ends(&self) -> Ends {
        let (public, identity) = (self.identity.to_public().to_string(), self.path("identity"));
        let words = ["x", "--recipient", &public, "with", "--identity", identity.to_str().unwrap()];
        Ends::try_parse_from(words).unwrap()
    }

    /// Seals the contents as they are.
    fn sealed(&self) -> PathBuf {
        let file = self.path("backup");
        let lock = self.ends().seal.lock().unwrap();
        write::write(&file, &lock, &self.contents, &self.path("staged")).unwrap();
        file
    }

    /// Seals an archive of these members with the manifest as it is, as somebody would who has the recipient's key.
    fn forged(&self, members: &[(&str, &[u8], tar::EntryType)]) -> PathBuf {
        let file = self.path("forged");
        let lock = self.ends().seal.lock().unwrap();
        let out = fs::File::create(&file).unwrap();
        let mut archive = tar::Builder::new(lock.encryptor().unwrap().wrap_output(out).unwrap());
        let manifest = serde_json::to_vec(&self.contents).unwrap();
        for (name, bytes, kind) in
            [(NAME, manifest.as_slice(), tar::EntryType::Regular)].iter().chain(members)
        {
            let mut head = tar::Header::new_gnu();
            head.set_entry_type(*kind);
            head.set_size(bytes.len() as u64);
            archive.append_data(&mut head, name, *bytes).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap();
        file
    }

    fn read(&self, file: &Path) -> Result<Contents, (Fault, String)> {
        let Open::With { with } = self.ends().open;
        let out = tempfile::tempdir_in(self.folder.path()).unwrap();
        match read::read(file, &with, out.path(), &|_, member| Some(PathBuf::from(&member.path))) {
            Ok(contents) => {
                for member in contents.members.iter().filter(|member| member.kind == Kind::File) {
                    let (here, there) =
                        (out.path().join(&member.path), self.path("staged").join(&member.path));
                    assert_eq!(fs::read(here).unwrap(), fs::read(there).unwrap(), "{}", member.path);
                }
                Ok(contents)
            }
            Err(Failure::Backup(broken)) => Err((broken.fault, broken.trustworthy.unwrap_or_default())),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_backup_comes_back_as_it_was_sealed() {
    let case = Case::new();
    assert_eq!(case.read(&case.sealed()).unwrap(), case.contents);
}

/// Adds a file of 6 GiB with a page of data near its end; its name has a line break.
fn with_holes(case: &mut Case) -> &'static str {
    use std::os::unix::fs::FileExt;
    const PATH: &str = "runner/holes\nand \"data\"";
    let file = fs::File::create(case.path("staged").join(PATH)).unwrap();
    file.set_len(6 << 30).unwrap();
    file.write_all_at(&[9; 4096], 5 << 30).unwrap();
    case.contents.members.push(member(PATH, Kind::File, 0));
    let staged = case.path("staged");
    write::sum(&mut case.contents.members, &staged).unwrap();
    PATH
}

// Holds P7-71.
#[test]
fn a_file_of_6_gib_of_holes_takes_kibibytes_and_comes_back() {
    use std::os::unix::fs::{FileExt, MetadataExt};
    let mut case = Case::new();
    let small = case.sealed().metadata().unwrap().len();
    fs::remove_file(case.path("backup")).unwrap();
    let path = with_holes(&mut case);
    let file = case.sealed();
    let grown = file.metadata().unwrap().len() - small;
    assert!(grown < 16 << 10, "{grown}");
    let Open::With { with } = case.ends().open;
    let out = case.path("out");
    fs::create_dir(&out).unwrap();
    let contents = read::read(&file, &with, &out, &|_, member| Some(PathBuf::from(&member.path))).unwrap();
    assert_eq!(contents, case.contents);
    let back = fs::File::open(out.join(path)).unwrap();
    let meta = back.metadata().unwrap();
    assert_eq!(meta.len(), 6 << 30);
    assert!(meta.blocks() < 64, "{}", meta.blocks());
    let mut bytes = [0; 4098];
    back.read_exact_at(&mut bytes, (5 << 30) - 1).unwrap();
    assert!(bytes[0] == 0 && bytes[4097] == 0 && bytes[1..4097] == [9; 4096]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the tar program of this machine must read a backup")]
fn tar_extracts_an_opened_backup_with_its_holes() {
    use std::os::unix::fs::MetadataExt;
    use std::process::{Command, Stdio};
    let mut case = Case::new();
    let path = with_holes(&mut case);
    let sealed = age::Decryptor::new(fs::File::open(case.sealed()).unwrap()).unwrap();
    let identity: &dyn age::Identity = &case.identity;
    let mut opened = sealed.decrypt(std::iter::once(identity)).unwrap();
    let mut tar = Command::new("tar")
        .args(["x", "-f", "-"])
        .current_dir(&case.folder)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::copy(&mut opened, &mut tar.stdin.take().unwrap()).unwrap();
    assert!(tar.wait().unwrap().success());
    let meta = case.path(path).metadata().unwrap();
    assert!(meta.len() == 6 << 30 && meta.blocks() < 64, "{meta:?}");
    assert_eq!(fs::read(case.path("runner/last")).unwrap(), vec![8; 300_000]);
}

#[test]
fn a_file_with_holes_that_is_not_as_listed_is_named() {
    let mut case = Case::new();
    case.contents.members.truncate(1);
    with_holes(&mut case);
    let listed = case.contents.members[1].clone();
    let mut pax = super::sparse::header(&listed.path, listed.size);
    let mut body = b"2\n5368709120\n4096\n6442450944\n0\n".to_vec();
    body.resize(512, 0);
    body.extend([9; 4096]);
    let (x, file) = (tar::EntryType::XHeader, tar::EntryType::Regular);
    let folder: (&str, &[u8], _) = ("runner", b"", tar::EntryType::Directory);
    let read = |pax: &[u8], name: &str, body: &[u8]| {
        let forged = case.forged(&[folder, ("x", pax, x), (name, body, file)]);
        let Open::With { with } = case.ends().open;
        read::read(&forged, &with, case.folder.path(), &|_, _| None).map(drop)
    };
    let name = super::sparse::NAME;
    read(&pax, name, &body).unwrap();
    let fault = |done: Result<(), Failure>| match done {
        Err(Failure::Backup(broken)) => broken.fault,
        _ => panic!("no fault"),
    };
    assert!(matches!(fault(read(&pax, "runner/other", &body)), Fault::Member(_)));
    body[0] = b'3';
    assert!(matches!(fault(read(&pax, name, &body)), Fault::Member(_)));
    body[0] = b'2';
    assert!(matches!(fault(read(&vec![b'x'; 9_000], name, &body)), Fault::NotABackup(_)));
    pax[0] = b'3';
    assert!(matches!(fault(read(&pax, name, &body)), Fault::Member(_)));
    let plain = case.forged(&[folder, (&listed.path, &body, file)]);
    assert!(matches!(case.read(&plain).unwrap_err().0, Fault::Member(_)));
}

#[test]
fn a_backup_is_never_overwritten_and_only_its_maker_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let case = Case::new();
    let file = case.sealed();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let lock = case.ends().seal.lock().unwrap();
    let again = write::write(&file, &lock, &case.contents, &case.path("staged"));
    assert!(matches!(again, Err(Failure::Backup(broken)) if matches!(broken.fault, Fault::Exists(_))));
    let names = fs::read_dir(case.folder.path()).unwrap().count();
    assert_eq!(names, 3, "what was written beside it is gone");
}

#[test]
fn a_changed_byte_is_found_and_earlier_members_are_vouched_for() {
    let case = Case::new();
    let file = case.sealed();
    let whole = fs::read(&file).unwrap();
    let broken = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(case.path("broken"), bytes).unwrap();
        case.read(&case.path("broken")).unwrap_err()
    };
    assert!(matches!(broken(0).0, Fault::NotABackup(_)));
    assert!(matches!(broken(60).0, Fault::WrongKey | Fault::Changed(_) | Fault::NotABackup(_)));
    let (fault, trustworthy) = broken(whole.len() / 2);
    assert!(matches!(fault, Fault::Changed(_)), "{fault}");
    assert!(trustworthy.contains("the first 1 of its 4 members, up to runner"), "{trustworthy}");
    assert!(matches!(broken(whole.len() - 1).0, Fault::CutShort));
    for at in (0..whole.len()).step_by(9_973) {
        let _ = broken(at);
    }
}

#[test]
fn a_backup_cut_short_anywhere_is_reported_so() {
    let case = Case::new();
    let whole = fs::read(case.sealed()).unwrap();
    let cut = |length: usize| {
        fs::write(case.path("cut"), &whole[..length]).unwrap();
        case.read(&case.path("cut")).unwrap_err()
    };
    assert!(matches!(cut(0).0, Fault::NotABackup(_)));
    for length in
        [10, 60, 200, 70_000, whole.len() / 2, whole.len() - 65_552, whole.len() - 600, whole.len() - 1]
    {
        assert!(matches!(cut(length).0, Fault::CutShort), "{length}");
    }
    assert!(cut(whole.len() - 1).1.contains("of its 4 members"));
}

#[test]
fn another_key_does_not_open_it_and_the_wrong_kind_of_key_is_named() {
    let case = Case::new();
    let file = case.sealed();
    let other = Case { identity: Identity::generate(), ..Case::new() };
    fs::write(other.path("identity"), other.identity.to_string().expose_secret()).unwrap();
    assert!(matches!(other.read(&file), Err((Fault::WrongKey, _))));
    let with = OpenWith::none();
    let asked = read::read(&file, &with, case.folder.path(), &|_, _| None);
    assert!(matches!(asked, Err(Failure::Usage(what)) if what.contains("--identity")));
}

// Holds P7-71.
#[test]
fn a_member_that_was_renamed_added_changed_or_taken_away_is_named() {
    let mut case = Case::new();
    let (file, folder) = (tar::EntryType::Regular, tar::EntryType::Directory);
    case.contents.members.truncate(2);
    let big = vec![7; 300_000];
    let other = vec![9; 300_000];
    let whole: &[(&str, &[u8], tar::EntryType)] = &[("runner", b"", folder), ("runner/big", &big, file)];
    assert_eq!(case.read(&case.forged(whole)).unwrap(), case.contents);

    let fault = |members: &[(&str, &[u8], tar::EntryType)]| case.read(&case.forged(members)).unwrap_err().0;
    let renamed = fault(&[("runner", b"", folder), ("runner/bag", &big, file)]);
    assert_eq!(
        renamed.to_string(),
        "its member runner/bag stands where runner/big is listed: one was renamed, added or taken away; use another copy"
    );
    assert!(matches!(fault(&[whole[0], whole[1], ("x", b"x", file)]), Fault::Misplaced { .. }));
    assert!(matches!(fault(&[("runner", b"", folder), ("runner/big", &other, file)]), Fault::Member(_)));
    assert!(matches!(fault(&[("runner", b"", folder), ("runner/big", b"7", file)]), Fault::Member(_)));
    assert!(matches!(fault(&[("runner", b"", file), whole[1]]), Fault::Member(_)));
    assert!(matches!(fault(&[("runner", b"", tar::EntryType::Symlink), whole[1]]), Fault::Member(_)));
    assert!(matches!(fault(&[("runner", b"", folder)]), Fault::Missing(_)));
}

#[test]
fn a_path_that_leads_away_is_refused_before_anything_is_written() {
    let mut case = Case::new();
    for path in ["../up", "/etc/cron.d/x", "runner/../../up"] {
        case.contents.members = vec![member(path, Kind::File, 1)];
        let (fault, _) = case.read(&case.forged(&[("x", b"x", tar::EntryType::Regular)])).unwrap_err();
        assert!(matches!(fault, Fault::Path(_)), "{path}");
    }
    assert!(!case.path("up").exists());
}

#[test]
fn a_file_that_is_no_backup_is_refused() {
    let case = Case::new();
    fs::write(case.path("text"), "a text that is none ".repeat(100)).unwrap();
    assert!(matches!(case.read(&case.path("text")), Err((Fault::NotABackup(_), _))));
    let lock = case.ends().seal.lock().unwrap();
    let out = fs::File::create(case.path("sealed text")).unwrap();
    let mut sealed = lock.encryptor().unwrap().wrap_output(out).unwrap();
    std::io::Write::write_all(&mut sealed, &b"a text that is no archive ".repeat(100)).unwrap();
    sealed.finish().unwrap();
    assert!(matches!(case.read(&case.path("sealed text")), Err((Fault::NotABackup(_), _))));
}
