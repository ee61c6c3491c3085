//! A filter as a tree over call numbers. seccompiler compares one number after the other. The kernel runs a filter for every number
//! when it is installed: for the list of a runner's row that takes over 1 ms, for the tree a tenth. The rules on arguments and the
//! check of the architecture are seccompiler's own.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter};
use std::collections::{BTreeMap, BTreeSet};

/// `linux/bpf_common.h`: load a word of the call's data, jump, jump if at least, return a value.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_AT_LEAST: u16 = 0x35;
const ANSWER: u16 = 0x06;
/// The words that a conditional jump can step over, less one for a jump that has to be inserted.
const REACH: usize = 255;
/// The distance within which an answer is reused: a jump from there has other words between.
const NEAR: usize = 128;
/// The offset of the number in `struct seccomp_data`.
const NUMBER: u32 = 0;

/// Answers to some calls that come before the list: where one of the call's rules holds, or always if it has none.
pub(crate) type Before = BTreeMap<i64, (Vec<SeccompRule>, SeccompAction)>;

/// The same filter as seccompiler makes of this: a call that is in `rules`, and meets one of its rules if it has any, is `listed`.
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

/// All numbers from 0 on, in pieces with the same answer. Every process of the host makes its filter before it serves, so all of
/// it lies in two lists.
struct Pieces {
    /// The first number of each piece, and the index of its first word.
    begins: Vec<(u32, usize)>,
    /// The words of the pieces, one after the other.
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
                let when = rules.remove(&number).filter(|_| !settled);
                let settled = settled || when.is_some_and(|when| alternatives(words, when, &listed));
                if !settled {
                    words.push(otherwise.clone());
                }
            });
            next = first.saturating_add(1);
        }
        pieces.add(next, |words| words.push(otherwise));
        pieces
    }

    /// Adds a piece, unless the last one has the same answer.
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

    /// The tree over these pieces, its last word first: a jump is written when its distance is known. Returns the index of its first
    /// word in that list.
    fn branch(&self, from: usize, to: usize, reversed: &mut BpfProgram) -> usize {
        let middle = from + (to - from) / 2;
        let Some((pivot, _)) = self.begins.get(middle).filter(|_| from < middle) else {
            return self.leaf(from, reversed);
        };
        let above = self.branch(middle, to, reversed);
        let below = self.branch(from, middle, reversed);
        // A piece that is out of reach has a jump of its own before it.
        let [above, below] = [above, below].map(|first| {
            if reversed.len() - first < REACH {
                return first;
            }
            let over = u32::try_from(reversed.len() - 1 - first).unwrap_or(u32::MAX);
            reversed.push(instruction(JUMP, 0, 0, over));
            reversed.len() - 1
        });
        let over = |first: usize| u8::try_from(reversed.len() - 1 - first).unwrap_or(u8::MAX);
        reversed.push(instruction(JUMP_AT_LEAST, over(above), over(below), *pivot));
        reversed.len() - 1
    }

    /// The words of one piece; if it is only an answer, an equal one in reach is reused.
    fn leaf(&self, piece: usize, reversed: &mut BpfProgram) -> usize {
        let words = self.program(piece);
        if let [answer] = words {
            let near = reversed.len().saturating_sub(NEAR);
            let same = reversed.iter().enumerate().skip(near).rev().find(|(_, step)| *step == answer);
            if let Some((first, _)) = same {
                return first;
            }
        }
        reversed.extend(words.iter().rev().cloned());
        reversed.len().saturating_sub(1)
    }
}

/// The words that check the arguments of one call: each alternative steps over its answer where it does not hold. Returns true if
/// one of them always holds.
fn alternatives(words: &mut BpfProgram, rules: Vec<SeccompRule>, answer: &sock_filter) -> bool {
    let always = rules.is_empty();
    for rule in rules {
        words.extend_from_slice(without_entry(&BpfProgram::from(rule)));
        words.push(answer.clone());
    }
    words.extend(always.then(|| answer.clone()));
    always
}

/// The words of a rule without the two jumps before it, with which seccompiler's own lists step over it: no jump goes back.
fn without_entry(rule: &[sock_filter]) -> &[sock_filter] {
    match rule {
        [enter, leave, asked @ ..] if (enter.code, enter.k, leave.code) == (JUMP, 1, JUMP) => asked,
        whole => whole,
    }
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

    // Holds P2-11.
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

    // Holds P2-11.
    #[test]
    fn alternatives_on_the_same_word_and_on_others_are_each_answered() {
        let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let (otherwise, listed) = (SeccompAction::KillProcess, SeccompAction::Allow);
        let half = |argument, value| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).unwrap()
        };
        let one = |argument, value| SeccompRule::new(vec![half(argument, value)]).unwrap();
        let both = || SeccompRule::new(vec![half(0, 9), half(1, 3)]).unwrap();
        let when = || vec![one(1, 3), one(1, 5), both(), one(1, 7), one(0, 4), one(1, 8), one(1, 8)];
        let same = || vec![one(1, 3), one(1, 5), one(1, 9)];
        let rules =
            || BTreeMap::from([(10, when()), (11, vec![one(1, 8)]), (12, vec![one(0, 8)]), (13, same())]);
        let list = SeccompFilter::new(rules(), otherwise.clone(), listed.clone(), architecture).unwrap();
        let list: BpfProgram = list.try_into().unwrap();
        let tree = compile(rules(), Before::new(), &otherwise, &listed, architecture).unwrap();
        for (number, first, second) in (9..15).flat_map(|number| {
            (0..12).flat_map(move |first| (0..12).map(move |second| (number, first, second)))
        }) {
            let arguments = [first, second, 0, 0, 0, 0];
            assert_eq!(
                run(&tree, number, arguments),
                run(&list, number, arguments),
                "{number} {arguments:?}"
            );
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
