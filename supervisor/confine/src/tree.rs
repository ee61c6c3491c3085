//! A filter as a tree over call numbers. seccompiler asks for one number after the other; the kernel runs a filter for
//! every number when it is installed, and the list of a runner's row took it over a millisecond, the tree a tenth.
//! What a rule asks of arguments, and the check of the architecture, are seccompiler's own.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter};
use std::collections::BTreeMap;

/// `linux/bpf_common.h`: load a word of the call's data, jump, jump if at least, give an answer.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_AT_LEAST: u16 = 0x35;
const ANSWER: u16 = 0x06;
/// Where the number stands in `struct seccomp_data`.
const NUMBER: u32 = 0;
/// The farthest that a conditional jump reaches.
const FAR: usize = u8::MAX as usize;

/// The numbers from `first` to that of the next piece, and what is done about them.
struct Piece {
    first: u32,
    program: BpfProgram,
}

/// The same filter as seccompiler makes of this: what is in `rules`, and meets one of its rules if it has any, is `listed`.
///
/// # Errors
/// seccompiler's.
pub(crate) fn compile(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: &SeccompAction,
    listed: &SeccompAction,
    architecture: TargetArch,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let empty = SeccompFilter::new(BTreeMap::new(), otherwise.clone(), listed.clone(), architecture)?;
    let mut program: BpfProgram = empty.try_into()?;
    // Its last word is the answer of a filter without rules.
    program.pop();
    program.push(instruction(LOAD, 0, 0, NUMBER));
    program.extend(tree(&pieces(rules, otherwise, listed)));
    Ok(program)
}

/// Pieces in order of number, without a gap from 0 on; neighbours that are answered alike are one.
fn pieces(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: &SeccompAction,
    listed: &SeccompAction,
) -> Vec<Piece> {
    let (otherwise, listed) = (answer(otherwise), answer(listed));
    let mut pieces: Vec<Piece> = Vec::new();
    let mut add = |first: u32, program: BpfProgram| match pieces.last() {
        Some(last) if last.program == program => {}
        _ => pieces.push(Piece { first, program }),
    };
    let mut next = 0;
    for (number, alternatives) in rules {
        let Ok(number) = u32::try_from(number) else { continue };
        if next < number {
            add(next, vec![otherwise.clone()]);
        }
        add(number, block(alternatives, &otherwise, &listed));
        next = number.saturating_add(1);
    }
    add(next, vec![otherwise]);
    pieces
}

/// What is asked of the arguments of one call: each alternative steps over its answer where it does not hold.
fn block(alternatives: Vec<SeccompRule>, otherwise: &sock_filter, listed: &sock_filter) -> BpfProgram {
    if alternatives.is_empty() {
        return vec![listed.clone()];
    }
    let mut program = BpfProgram::new();
    for rule in alternatives {
        program.extend(BpfProgram::from(rule));
        program.push(listed.clone());
    }
    program.push(otherwise.clone());
    program
}

fn tree(pieces: &[Piece]) -> BpfProgram {
    let (below, above) = pieces.split_at(pieces.len() / 2);
    let (Some(pivot), false) = (above.first(), below.is_empty()) else {
        return pieces.first().map(|piece| piece.program.clone()).unwrap_or_default();
    };
    let (below, above) = (tree(below), tree(above));
    let mut program = match u8::try_from(below.len()) {
        Ok(over) if below.len() <= FAR => vec![instruction(JUMP_AT_LEAST, over, 0, pivot.first)],
        _ => {
            let over = u32::try_from(below.len()).unwrap_or(u32::MAX);
            vec![instruction(JUMP_AT_LEAST, 0, 1, pivot.first), instruction(JUMP, 0, 0, over)]
        }
    };
    program.extend(below);
    program.extend(above);
    program
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
            let tree = compile(rules, &otherwise, &listed, architecture).unwrap();
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
    fn of_no_rules_nothing_is_listed() {
        let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let (otherwise, listed) = (SeccompAction::Errno(1), SeccompAction::Allow);
        let tree = compile(BTreeMap::new(), &otherwise, &listed, architecture).unwrap();
        assert_eq!(run(&tree, 0, [0; 6]), u32::from(otherwise));
    }
}
