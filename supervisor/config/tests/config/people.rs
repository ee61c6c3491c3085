//! Users and the ids of the machine: bad files and their exact error messages.

use crate::common::{all, check, check_in, machine};

const USER: &str =
    "1 to 64 ASCII letters, digits, `-`, `_`, `.` and `@`, a letter or digit first, and not digits alone";

#[test]
fn users_are_checked_against_each_other_and_against_the_hosts_own_ids() {
    let role = "owner, user, guest";
    all(&[
        (
            "[[user]]",
            &format!(
                "1: user[0].name: this key is missing; valid: {USER}\n1: user[0].role: this key is missing; valid: {role}"
            ),
        ),
        (
            "[[user]]\nname='a'\nrole='user'\nuids=[1,2]\nchannels=['t:1']\n[[user]]\nname='a'\nrole='guest'\nuids=[3,\n2]\nchannels=['t:1']",
            "7: user[1].name: this name belongs to another user; valid: a name of its own\n\
             10: user[1].uids[1]: uid 2 is user a already; valid: a uid of one user\n\
             11: user[1].channels[0]: t:1 is user a already; valid: an identity of one user",
        ),
        (
            "[[user]]\nname='ａｎｎ'\nrole='user'\n[[user]]\nname='1000'\nrole='user'",
            &format!(
                "2: user[0].name: \"ａｎｎ\" is not of this form; valid: {USER}\n5: user[1].name: \"1000\" is not of this form; valid: {USER}"
            ),
        ),
        (
            "[[user]]\nname='a'\nrole='user'\nuids=[7,7]",
            "4: user[0].uids[1]: uid 7 is user a already; valid: a uid of one user",
        ),
        (
            "[[user]]\nname='a'\nrole='guest'\nuids=[0]",
            "4: user[0].uids[0]: root is always an owner; valid: a uid other than 0, or `role = \"owner\"`",
        ),
        (
            "[[user]]\nname='a'\nrole='user'\nuids=[65534]",
            "4: user[0].uids[0]: uid 65534 is the uid of `nobody`; valid: a person's uid",
        ),
        (
            "[[user]]\nname='a'\nrole='user'\nuids=[780255,780256]",
            "4: user[0].uids[0]: uid 780255 is a process of this host; valid: a person's uid",
        ),
    ]);
    assert!(check("[[user]]\nname='a'\nrole='owner'\nuids=[0]").is_ok());
    assert!(check("[host]\nmode='user'\n[[user]]\nname='a'\nrole='user'\nuids=[780255]").is_ok());
    let many = "[[user]]\nname='a'\nrole='user'\n".repeat(129);
    assert_eq!(check(&many).unwrap_err(), "f:1: user: 129 of them; valid: at most 128\n");
}

// Holds P2-19.
#[test]
fn a_host_of_nobody_is_refused_since_nothing_would_answer_its_person() {
    let mut machine = machine();
    (machine.root, machine.owner) = (false, 65534);
    let told = check_in("/".as_ref(), b"\n[host]\nmode = 'flat'", &machine).unwrap_err();
    let expected = "f:3: host: it would be run by uid 65534, the uid of `nobody`, which no process answers; \
                    valid: a user of its own, to run agentd as\n";
    assert_eq!(told, expected);
    machine.owner = 1000;
    assert!(check_in("/".as_ref(), b"\n[host]\nmode = 'flat'", &machine).is_ok());
}

#[test]
fn ids_that_somebody_has_are_refused_with_a_base_that_is_free() {
    let etc = tempfile::tempdir().unwrap();
    std::fs::write(etc.path().join("subuid"), "ada:780255:1000\n").unwrap();
    let mut machine = machine();
    machine.accounts = agentd_config::accounts::Accounts::read(etc.path(), &etc.path().join("uid_map"));
    let told = |text: &str, machine: &_| check_in("/".as_ref(), text.as_bytes(), machine).unwrap_err();
    let report = "host.uid_base: the ids from 780000 on are not free: ids 780255 to 781254 belong to \"ada\" in \
                  /etc/subuid; valid: a number from which 256 ids are free, such as 782000\n";
    assert_eq!(told("", &machine), format!("f:1: {report}"));
    assert_eq!(told("\n[host]\nmode = 'system'", &machine), format!("f:2: {report}"));
    machine.root = false;
    assert!(check_in("/".as_ref(), b"", &machine).is_ok(), "an ordinary user's host has no ids of its own");
    let nobody = "f:2: host.uid_base: the ids from 65400 on are not free: id 65534 is the id of `nobody`; \
                  valid: a number from which 256 ids are free, such as 782000\n";
    assert_eq!(told("[host]\nuid_base = 65400", &machine), nobody);

    std::fs::write(etc.path().join("uid_map"), "0 1000 1\n").unwrap();
    machine.root = true;
    std::fs::write(etc.path().join("subuid"), "").unwrap();
    machine.accounts = agentd_config::accounts::Accounts::read(etc.path(), &etc.path().join("uid_map"));
    let none = "f:1: host.uid_base: the ids from 780000 on are not free: they do not exist in this container; \
                valid: none on this machine, so another `host.mode`\n";
    assert_eq!(told("", &machine), none);
}

#[test]
fn installed_users_must_differ_and_none_may_be_root() {
    let etc = tempfile::tempdir().unwrap();
    let with = |uid: &dyn Fn(usize) -> usize| {
        let line = |(n, row): (usize, &manifest::Row)| {
            format!("{}:x:{}:{}::/:/bin/false\n", row.user, uid(n), 500 + n)
        };
        let lines: String = manifest::TABLE.iter().enumerate().map(line).collect();
        std::fs::write(etc.path().join("passwd"), lines).unwrap();
        let mut machine = machine();
        machine.accounts = agentd_config::accounts::Accounts::read(etc.path(), &etc.path().join("uid_map"));
        check_in("/".as_ref(), b"[[user]]\nname='a'\nrole='user'\nuids=[403]", &machine)
    };
    let valid = "valid: a uid of its own for each `cordon-*` user, and not root's";
    let told = with(&|n| 400 + n).unwrap_err();
    assert_eq!(told, "f:4: user[0].uids[0]: uid 403 is a process of this host; valid: a person's uid\n");
    let told = with(&|n| if n == 5 { 410 } else { 410 + n }).unwrap_err();
    assert_eq!(
        told,
        format!("f:1: host: the installed users cordon-audit and cordon-web both have uid 410; {valid}\n")
    );
    let told = with(&|n| if n == 2 { 0 } else { 410 + n }).unwrap_err();
    assert_eq!(
        told,
        format!("f:1: host: the installed user cordon-credproxy has uid 0 and gid 502; {valid}\n")
    );
}
