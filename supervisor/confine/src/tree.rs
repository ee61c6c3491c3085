//! A filter as a tree over call numbers. seccompiler asks for one number after the other; the kernel runs a filter for
//! every number when it is installed, and the list of a runner's row took it over a millisecond, the tree a tenth.
//! What a rule asks of arguments, and the check of the architecture, are seccompiler's own.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter};
use std::collections::{BTreeMap, BTreeSet};

/// `linux/bpf_common.h`: load a word of the call's data, jump, jump if at least, give an answer.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_AT_LEAST: u16 = 0x35;
const ANSWER: u16 = 0x06;
/// Where the number stands in `struct seccomp_data`.
const NUMBER: u32 = 0;

/// What is answered to some calls before it is looked at whether they are listed: wherever one of its rules holds, or
/// always if it has none.
pub(crate) type Before = BTreeMap<i64, (Vec<SeccompRule>, SeccompAction)>;

/// The same filter as seccompiler makes of this: what is in `rules`, and meets one of its rules if it has any, is `listed`.
///
/// # Errors
/// seccompiler's.
pub(crate) fn compile(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    before: Before,
    otherwise: &SeccompAction,
    listed: &SeccompAction,
    architecture: TargetArch,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let empty = SeccompFilter::new(BTreeMap::new(), otherwise.clone(), listed.clone(), architecture)?;
    let mut program: BpfProgram = empty.try_into()?;
    // Its last word is the answer of a filter without rules.
    program.pop();
    program.push(instruction(LOAD, 0, 0, NUMBER));
    let pieces = Pieces::of(rules, before, otherwise, listed);
    let mut reversed = Vec::with_capacity(pieces.words.len() + 2 * pieces.begins.len());
    pieces.branch(0, pieces.begins.len(), &mut reversed);
    program.extend(reversed.into_iter().rev());
    Ok(program)
}

/// The numbers from 0 on without a gap, in pieces that are answered alike. Every process of the host makes its filter
/// before it serves, so all of it lies in two lists.
struct Pieces {
    /// The first number of each piece, and where its words begin.
    begins: Vec<(u32, usize)>,
    /// What is done about each, one after the other.
    words: BpfProgram,
}

impl Pieces {
    fn of(
        mut rules: BTreeMap<i64, Vec<SeccompRule>>,
        mut before: Before,
        otherwise: &SeccompAction,
        listed: &SeccompAction,
    ) -> Self {
        let numbers: BTreeSet<i64> = rules.keys().chain(before.keys()).copied().collect();
        let (otherwise, listed) = (answer(otherwise), answer(listed));
        let mut pieces = Self { begins: Vec::new(), words: Vec::new() };
        let mut next = 0;
        for number in numbers {
            let Ok(first) = u32::try_from(number) else { continue };
            if next < first {
                pieces.add(next, |words| words.push(otherwise.clone()));
            }
            pieces.add(first, |words| {
                let said = before.remove(&number);
                let settled = said.is_some_and(|(when, action)| alternatives(words, when, &answer(&action)));
                let settled =
                    settled || rules.remove(&number).is_some_and(|when| alternatives(words, when, &listed));
                if !settled {
                    words.push(otherwise.clone());
                }
            });
            next = first.saturating_add(1);
        }
        pieces.add(next, |words| words.push(otherwise));
        pieces
    }

    /// Adds one, unless the last is answered just so.
    fn add(&mut self, first: u32, write: impl FnOnce(&mut BpfProgram)) {
        let begin = self.words.len();
        write(&mut self.words);
        let last = self.begins.last().map(|(_, last)| self.words.get(*last..begin));
        if last.is_some_and(|last| last == self.words.get(begin..)) {
            self.words.truncate(begin);
        } else {
            self.begins.push((first, begin));
        }
    }

    fn program(&self, piece: usize) -> &[sock_filter] {
        let begin = |piece: usize| self.begins.get(piece).map_or(self.words.len(), |(_, begin)| *begin);
        self.words.get(begin(piece)..begin(piece + 1)).unwrap_or_default()
    }

    /// The tree over these pieces, its last word first: a jump is written when it is known how far it goes.
    fn branch(&self, from: usize, to: usize, reversed: &mut BpfProgram) {
        let middle = from + (to - from) / 2;
        let Some((pivot, _)) = self.begins.get(middle).filter(|_| from < middle) else {
            reversed.extend(self.program(from).iter().rev().cloned());
            return;
        };
        self.branch(middle, to, reversed);
        let above = reversed.len();
        self.branch(from, middle, reversed);
        let below = reversed.len() - above;
        if let Ok(over) = u8::try_from(below) {
            reversed.push(instruction(JUMP_AT_LEAST, over, 0, *pivot));
        } else {
            reversed.push(instruction(JUMP, 0, 0, u32::try_from(below).unwrap_or(u32::MAX)));
            reversed.push(instruction(JUMP_AT_LEAST, 0, 1, *pivot));
        }
    }
}

/// What is asked of the arguments of one call: each alternative steps over its answer where it does not hold. Whether one
/// of them always holds.
fn alternatives(words: &mut BpfProgram, rules: Vec<SeccompRule>, answer: &sock_filter) -> bool {
    if rules.is_empty() {
        words.push(answer.clone());
        return true;
    }
    for rule in rules {
        words.extend(BpfProgram::from(rule));
        words.push(answer.clone());
    }
    false
}

fn answer(action: &SeccompAction) -> sock_filter {
    instruction(ANSWER, 0, 0, u32::from(action.clone()))
}

const fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};

    /// Runs a program as the kernel would, on a call of this architecture.
    fn run(program: &BpfProgram, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data =
            vec![number, if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 }, 0, 0];
        data.extend(arguments.iter().flat_map(|value| [*value as u32, (*value >> 32) as u32]));
        let (mut at, mut word) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match step.code {
                LOAD => word = data[step.k as usize / 4],
                JUMP => at += step.k as usize,
                0x15 => at += jump(word == step.k),
                0x25 => at += jump(word > step.k),
                JUMP_AT_LEAST => at += jump(word >= step.k),
                0x54 => word &= step.k,
                ANSWER => return step.k,
                code => panic!("{code:#x}"),
            }
        }
    }

    fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> SeccompRule {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    }

    #[test]
    fn the_tree_answers_every_call_as_the_list_does() {
        let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        for (every, conditional) in [(1, 5), (2, 3), (3, 7), (50, 1), (1, 1000)] {
            let mut rules = BTreeMap::new();
            for number in (1..460).filter(|number| number % every == 0) {
                let asked = number % conditional == 0;
                let two = || vec![rule(1, SeccompCmpOp::Eq, 7), rule(0, SeccompCmpOp::MaskedEq(6), 2)];
                rules.insert(number, if asked { two() } else { vec![] });
            }
            let (otherwise, listed) = (SeccompAction::KillProcess, SeccompAction::Allow);
            let list =
                SeccompFilter::new(rules.clone(), otherwise.clone(), listed.clone(), architecture).unwrap();
            let list: BpfProgram = list.try_into().unwrap();
            let tree = compile(rules, Before::new(), &otherwise, &listed, architecture).unwrap();
            assert!(tree.len() < 4096);
            for number in (0..470).chain([1 << 30, (1 << 30) + 1, u32::MAX]) {
                for arguments in
                    [[0; 6], [2, 7, 0, 0, 0, 0], [2; 6], [u64::MAX; 6], [0, 7 | 1 << 32, 0, 0, 0, 0]]
                {
                    let told = run(&tree, number, arguments);
                    assert_eq!(
                        told,
                        run(&list, number, arguments),
                        "{every} {conditional} {number} {arguments:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_answered_before_is_answered_so_whether_it_is_listed_or_not() {
        let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let (otherwise, listed) = (SeccompAction::KillProcess, SeccompAction::Allow);
        let seven = || vec![rule(1, SeccompCmpOp::Eq, 7)];
        let rules = BTreeMap::from([(10, vec![]), (11, vec![]), (12, vec![rule(0, SeccompCmpOp::Eq, 2)])]);
        let refused = SeccompAction::Errno(38);
        let before = Before::from([
            (9, (vec![], refused.clone())),
            (10, (vec![], refused.clone())),
            (11, (seven(), refused.clone())),
            (12, (seven(), refused.clone())),
            (13, (seven(), refused.clone())),
        ]);
        let tree = compile(rules, before, &otherwise, &listed, architecture).unwrap();
        let (killed, allowed, refused) = (u32::from(otherwise), u32::from(listed), u32::from(refused));
        for (number, plain, with_seven, with_two) in [
            (8, killed, killed, killed),
            (9, refused, refused, refused),
            (10, refused, refused, refused),
            (11, allowed, refused, allowed),
            (12, killed, refused, allowed),
            (13, killed, refused, killed),
            (14, killed, killed, killed),
        ] {
            let came =
                [[0; 6], [2, 7, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]].map(|words| run(&tree, number, words));
            assert_eq!(came, [plain, with_seven, with_two], "{number}");
        }
    }

    #[test]
    fn of_no_rules_nothing_is_listed() {
        let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let (otherwise, listed) = (SeccompAction::Errno(1), SeccompAction::Allow);
        let tree = compile(BTreeMap::new(), Before::new(), &otherwise, &listed, architecture).unwrap();
        assert_eq!(run(&tree, 0, [0; 6]), u32::from(otherwise));
    }
}
