//! The machine's time zone: the name in the link `/etc/localtime`, as localtime(5) has it.

use jiff::tz::TimeZone;
use std::path::Path;

/// The time zone of a machine that states none.
const UTC: &str = "UTC";

/// The IANA name of the zone that the link at `path` names; UTC where it names none that is known.
#[must_use]
pub fn of(path: &Path) -> String {
    let link = std::fs::read_link(path).unwrap_or_default();
    let name = link.to_str().and_then(|link| link.split_once("zoneinfo/")).map(|(_, name)| name);
    name.filter(|name| TimeZone::get(name).is_ok()).unwrap_or(UTC).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    // Holds P5-70.
    #[test]
    fn the_machine_s_zone_is_the_one_that_its_link_names_and_else_utc() {
        let folder = tempfile::tempdir().unwrap();
        for (number, (link, zone)) in [
            ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
            ("../usr/share/zoneinfo/America/Argentina/Ushuaia", "America/Argentina/Ushuaia"),
            ("/usr/share/zoneinfo/Nowhere/Land", UTC),
            ("/somewhere/else", UTC),
        ]
        .into_iter()
        .enumerate()
        {
            let path = folder.path().join(number.to_string());
            symlink(link, &path).unwrap();
            assert_eq!(of(&path), zone, "{link}");
        }
        assert_eq!(of(&folder.path().join("none")), UTC);
    }
}
