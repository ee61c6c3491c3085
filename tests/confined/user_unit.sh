# What is done with the unit of a person's own systemd. Rows are read by user_unit.rs.
dpkg -i /1.0.deb && systemctl disable --now cordon
useradd -m -s /bin/bash ada
uid=$(id -u ada)
ada() { setpriv --reuid ada --regid ada --init-groups env -i PATH="$PATH" HOME=/home/ada XDG_RUNTIME_DIR="/run/user/$uid" "$@"; }
named() { grep -lx "$1" /proc/[0-9]*/comm 2>/dev/null | cut -d / -f 3; }
unit() { ada systemctl --user show -P "$1" cordon; }
another() { [ "$(unit MainPID)" != "$1" ] && [ "$(unit MainPID)" != 0 ] && [ "$(unit ActiveState)" = active ]; }

# Its systemd runs without a session of hers, as after `loginctl enable-linger`.
try manager systemctl start "user@$uid.service"
try enable ada systemctl --user enable --now cordon
row started "$(unit ActiveState) $(ada systemctl --user is-enabled cordon)"
row status "$(unit StatusText)"
row owner "$(stat -c %U "/proc/$(unit MainPID)") $(stat -c %U "/proc/$(named gate)")"
soon sh -c "journalctl _SYSTEMD_USER_UNIT=cordon.service -o cat --no-pager | grep -q self-check"
row 'self check' "$(journalctl _SYSTEMD_USER_UNIT=cordon.service -o cat --no-pager | grep self-check)"
try attest ada agentctl attest
row mode "$(ada agentctl status --json | tr -d '\n')"
row jail "$(ada timeout 60 agentctl chat --session a -m 'run: hostname' </dev/null | tr '\n' ' ')"
ada agentctl doctor --json >/doctor.json; row doctor "exit $? $(tr -d '\n' </doctor.json)"
first=$(unit MainPID); kill -KILL "$first"
soon another "$first"; try killed another "$first"
soon ada agentctl status >/dev/null
try stop ada systemctl --user stop cordon
row stopped "$(unit ActiveState) $(unit Result) $(named gate | wc -l)"
