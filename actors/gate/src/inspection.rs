//! The scanner's verdict on each text that crosses a boundary, and the text as it may go on.

pub(crate) mod answer;
pub(crate) mod display;
pub(crate) mod marks;
pub(crate) mod reply_text;
pub(crate) mod scan;
