//! Gives back the memory that only the start of a program needed: pages of its code that were mapped for it, and the free part of
//! its heap. It never touches a page that was written to.

use std::mem::size_of;
use std::slice;

/// Unmaps this program's code and constants, which are read from the file again when they are used, and trims the heap. The kernel
/// maps code in runs of sixteen pages around each access; of the code of a start, which reads a configuration and opens stores, a
/// process that waits for work needs a small part.
pub fn give_back() {
    // SAFETY: glibc's own function; it takes its locks and gives back free memory alone.
    unsafe { libc::malloc_trim(0) };
    for (start, length) in read_only() {
        // SAFETY: the range is within a segment of this program that is mapped from its file and not writable, so that a
        // dropped page is read again from the file. A failure changes nothing.
        unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED) };
    }
}

/// Address and length, in whole pages, of each segment of this program that is not writable.
fn read_only() -> Vec<(usize, usize)> {
    let headers = headers();
    let own = headers.iter().find(|header| header.p_type == libc::PT_PHDR);
    let Some(own) = own else { return Vec::new() };
    // The program's first address: its headers are at a known offset from it.
    let base = (headers.as_ptr() as usize).wrapping_sub(own.p_vaddr as usize);
    let page = page_size();
    let segment = |header: &libc::Elf64_Phdr| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        let first = start.next_multiple_of(page);
        let end = start.wrapping_add(header.p_memsz as usize) / page * page;
        (first, end.saturating_sub(first))
    };
    let kept =
        |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0;
    headers.iter().filter(kept).map(segment).filter(|(_, length)| *length > 0).collect()
}

/// The program headers, from the kernel's auxiliary vector.
fn headers() -> &'static [libc::Elf64_Phdr] {
    // SAFETY: these read the vector that the kernel has put on the stack.
    let auxiliary = |what| unsafe { libc::getauxval(what) } as usize;
    let (at, number, size) = (auxiliary(libc::AT_PHDR), auxiliary(libc::AT_PHNUM), auxiliary(libc::AT_PHENT));
    if at == 0 || size != size_of::<libc::Elf64_Phdr>() {
        return &[];
    }
    // SAFETY: the kernel states that so many headers of this size are there; they are mapped from the program's file for as
    // long as it runs.
    unsafe { slice::from_raw_parts(at as *const libc::Elf64_Phdr, number) }
}

fn page_size() -> usize {
    // SAFETY: reads a number that glibc knows.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    /// KiB of this program's file that this process has mapped.
    fn resident() -> usize {
        let program = std::env::current_exe().unwrap().display().to_string();
        let mut within = false;
        let mut kib = 0;
        for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
            match line.strip_prefix("Rss:") {
                Some(rss) if within => kib += rss.trim().trim_end_matches(" kB").parse::<usize>().unwrap(),
                Some(_) => {}
                None if line.contains(" r") => within = line.ends_with(&program),
                None => {}
            }
        }
        kib
    }

    /// KiB of a constant that no code ever reads.
    const IDLE: usize = 4096;
    static UNREAD: [u8; IDLE * 1024] = [1; IDLE * 1024];

    #[test]
    fn what_is_given_back_is_no_longer_mapped_and_is_read_again_from_the_file() {
        let sum =
            || UNREAD.iter().step_by(page_size()).map(|byte| usize::from(*black_box(byte))).sum::<usize>();
        let read = sum();
        let before = resident();
        give_back();
        let after = resident();
        // The part of the code that comes back at once depends on the file system and on the other tests that run meanwhile.
        assert!(after + IDLE * 3 / 4 <= before, "{before} KiB, then {after}");
        assert_eq!(read, sum());
    }
}
