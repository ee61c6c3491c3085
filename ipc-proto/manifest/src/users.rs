//! The users of a host in mode `system`, as systemd-sysusers reads them: one for each row.

use crate::TABLE;
use core::fmt::{self, Write};

const HEAD: &str = "\
# sysusers.d: one user for each row of the table of privilege (`agentctl manifest`), made from it by `make lists`. All or none:
# where one is missing, agentd numbers all of them from [host] uid_base on. Runner slots are numbered in either case.
#Type Name ID GECOS Home directory Shell
";

/// Writes the lines of `deploy/sysusers.conf`.
///
/// # Errors
/// Only what `out` itself returns.
pub fn write(out: &mut impl Write) -> fmt::Result {
    out.write_str(HEAD)?;
    for row in TABLE {
        writeln!(out, "u {} - \"Cordon {}\" - -", row.user, row.process.name())?;
    }
    Ok(())
}
