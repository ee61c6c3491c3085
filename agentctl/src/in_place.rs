//! One line of standard error that changes in place: the last output of a running tool, or the progress of a long task. It is
//! shown on a terminal only, is cut to its width, and is cleared before anything else is printed.

use crate::{text, wrap};
use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

/// The least time between two states of the line.
const REDRAW: Duration = Duration::from_millis(100);
/// The time after which a task is worth a bar.
const DELAY: Duration = Duration::from_millis(500);
/// The characters of the bar.
const BAR: usize = 20;

/// A line that changes in place.
pub(crate) struct InPlace {
    is_shown: bool,
    /// The terminal's width; `None` if there is no terminal.
    columns: Option<usize>,
}

impl InPlace {
    /// A line at standard error, if that is a terminal and the output is not JSON.
    pub(crate) fn new(json: bool) -> Self {
        let is_seen = !json && io::stderr().is_terminal();
        Self { is_shown: false, columns: is_seen.then(|| wrap::columns(io::stderr())).flatten() }
    }

    /// Returns true if there is a terminal to show it.
    pub(crate) const fn is_seen(&self) -> bool {
        self.columns.is_some()
    }

    /// Shows this line in place of the one before.
    pub(crate) fn show(&mut self, line: &str) {
        let Some(columns) = self.columns else { return };
        self.is_shown = true;
        // A line that cannot be shown is no reason to stop.
        let mut out = io::stderr().lock();
        let _ = write!(out, "\r\u{1b}[K{}", cut(&text::line(line), columns.saturating_sub(1)));
        let _ = out.flush();
    }

    /// Clears the line.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let mut out = io::stderr().lock();
            let _ = write!(out, "\r\u{1b}[K");
            let _ = out.flush();
        }
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The beginning of a line that takes at most `most` columns.
fn cut(line: &str, most: usize) -> String {
    if wrap::width(line) <= most {
        return line.to_owned();
    }
    let mut out = String::new();
    for c in line.chars() {
        let mut next = out.clone();
        next.push(c);
        if wrap::width(&next) >= most {
            break;
        }
        out = next;
    }
    out.push('…');
    out
}

/// The unit in which a task counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Bytes.
    Bytes,
    /// Things of this name, in the plural.
    Of(&'static str),
}

/// The progress of a long task: a bar, the rate and the time left where the whole is known, else the rate alone.
pub(crate) struct Progress {
    line: InPlace,
    task: &'static str,
    unit: Unit,
    whole: Option<u64>,
    done: u64,
    began: Instant,
    shown: Option<Instant>,
}

impl Progress {
    /// The progress of `task`, which has `whole` units if that is known.
    pub(crate) fn new(json: bool, task: &'static str, unit: Unit, whole: Option<u64>) -> Self {
        let line = InPlace::new(json);
        Self { line, task, unit, whole, done: 0, began: Instant::now(), shown: None }
    }

    /// Counts `more` units as done.
    pub(crate) fn add(&mut self, more: u64) {
        self.done = self.done.saturating_add(more);
        // A short task needs no bar, and one that begins with a question leaves its line alone.
        let is_late = self.began.elapsed() >= DELAY;
        let is_due = is_late && self.shown.is_none_or(|shown| shown.elapsed() >= REDRAW);
        if is_due && self.line.is_seen() {
            self.shown = Some(Instant::now());
            self.line.show(&bar(self.task, self.unit, self.done, self.whole, self.began.elapsed()));
        }
    }
}

/// Bytes that pass, counted as progress.
pub(crate) struct Counted<T> {
    inner: T,
    progress: Progress,
}

impl<T> Counted<T> {
    /// Counts what is read from `inner` or written to it.
    pub(crate) const fn new(inner: T, progress: Progress) -> Self {
        Self { inner, progress }
    }

    fn count(&mut self, bytes: usize) {
        self.progress.add(u64::try_from(bytes).unwrap_or_default());
    }
}

impl<T: Read> Read for Counted<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count(read);
        Ok(read)
    }
}

impl<T: Write> Write for Counted<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The line of a task: `backup  [#####---------------] 25%  12.0 MiB/s  3s left`.
fn bar(task: &str, unit: Unit, done: u64, whole: Option<u64>, spent: Duration) -> String {
    let ms = u64::try_from(spent.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = done.saturating_mul(1000) / ms;
    let amount = |count: u64| match unit {
        Unit::Bytes => text::bytes(count),
        Unit::Of(name) => format!("{count} {name}"),
    };
    let Some(whole) = whole.filter(|whole| *whole > 0) else {
        return format!("{task}  {}  {}/s", amount(done), amount(rate));
    };
    let part = done.min(whole);
    let hundredths = part.saturating_mul(100) / whole;
    let full = usize::try_from(hundredths).unwrap_or(100).saturating_mul(BAR) / 100;
    let drawn = format!("{}{}", "#".repeat(full), "-".repeat(BAR.saturating_sub(full)));
    let left_ms = left_ms(part, whole, ms);
    let left =
        if rate == 0 || left_ms == 0 { String::new() } else { format!("  {} left", text::span(left_ms)) };
    format!("{task}  [{drawn}] {hundredths}%  {}/s{left}", amount(rate))
}

/// The time left at the rate so far, in whole seconds as ms.
fn left_ms(done: u64, whole: u64, spent_ms: u64) -> u64 {
    let rest = whole.saturating_sub(done);
    let left = u128::from(rest).saturating_mul(u128::from(spent_ms)) / u128::from(done.max(1));
    u64::try_from(left).unwrap_or(u64::MAX).div_ceil(1000).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_the_part_done_the_rate_and_the_time_left() {
        let second = Duration::from_secs(1);
        assert_eq!(
            bar("backup", Unit::Bytes, 1 << 20, Some(4 << 20), second),
            "backup  [#####---------------] 25%  1.0 MiB/s  3s left"
        );
        assert_eq!(
            bar("import", Unit::Of("memories"), 30, Some(30), second),
            "import  [####################] 100%  30 memories/s"
        );
        assert_eq!(bar("verify", Unit::Bytes, 2 << 20, None, second), "verify  2.0 MiB  2.0 MiB/s");
        assert!(bar("import", Unit::Of("memories"), 0, Some(9), second).ends_with("] 0%  0 memories/s"));
    }

    #[test]
    fn a_line_that_is_too_wide_is_cut_and_says_so() {
        assert_eq!(cut("harbour", 7), "harbour");
        assert_eq!(cut("harbour office", 7), "harbou…");
        assert_eq!(cut("世界世界", 5), "世界…");
    }
}
