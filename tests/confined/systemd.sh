# What is done with the package under a real systemd, in the order of a host's life. Rows are read by systemd.rs.
main() { systemctl show -P MainPID cordon; }
is() { [ "$(systemctl show -P "$1" cordon)" = "$2" ]; }
another() { [ "$(main)" != "$1" ] && [ "$(main)" != 0 ] && is ActiveState active; }
named() { grep -lx "$1" /proc/[0-9]*/comm 2>/dev/null | cut -d / -f 3; }
said() { timeout 60 agentctl chat --session "$1" "${@:3}" -m "$2" </dev/null; }

# A short watchdog, so that the test need not wait for the one that is shipped.
mkdir -p /etc/systemd/system/cordon.service.d
printf '[Service]\nWatchdogSec=4s\n' >/etc/systemd/system/cordon.service.d/short.conf
try install dpkg -i /1.0.deb
row started "$(systemctl show -P ActiveState cordon) $(systemctl is-enabled cordon)"
row status "$(systemctl show -P StatusText cordon)"
row user "$(stat -c %U /var/lib/cordon/gate)"

# Every layer, in spite of all that the unit takes away.
try attest agentctl attest
soon sh -c 'journalctl -u cordon -o cat --no-pager | grep -q self-check'
row 'self check' "$(journalctl -u cordon -o cat --no-pager | grep self-check)"
row jail "$(said a 'run: hostname' | tr '\n' ' ')"
useradd -m ada
for place in /home/ada/work /tmp/work /opt/work; do
    mkdir -p "$place" && echo here >"$place/seen"
    row "attached $place" "$(said "at$place" 'run: cp seen copied' --workspace "$place" | tr '\n' ' ') $(cat "$place/copied")"
done
inside() { nsenter --mount --target "$(main)" -- "$@"; }
row hidden "$(inside ls -A /home /root 2>&1 | tr '\n' ' ')"
for place in /usr /etc /opt /srv; do
    inside touch "$place/written" && row "writable $place" yes || row "writable $place" no
done
inside touch /var/lib/cordon/written && row 'writable state' yes || row 'writable state' no
row capabilities "$(grep CapBnd "/proc/$(main)/status" | cut -f 2)"

agentctl doctor --json >/doctor.json
row doctor "exit $? $(tr -d '\n' </doctor.json)"
try report agentctl report --out /report.tar
row members "$(tar -tf /report.tar | tr '\n' ' ')"
agentctl report --out /report.tar; row 'report again' "exit $?"

# Deaths: one that stands still, one that is killed, one that would be the same each time.
first=$(main); kill -STOP "$first"
soon another "$first"; try watchdog another "$first"
row 'watchdog said' "$(journalctl -u cordon -o cat --no-pager | grep -c 'Watchdog timeout')"
second=$(main); kill -KILL "$second"
soon another "$second"; try killed another "$second"
soon agentctl status >/dev/null
row 'journal warnings' "$(kill -KILL "$(named router)"; sleep 1; journalctl -t cordon -p warning -o cat --no-pager | tr '\n' ' ')"
cp /etc/cordon/cordon.toml /kept; echo 'nonsense = 1' >>/etc/cordon/cordon.toml
systemctl restart cordon; sleep 2
row refused "$(systemctl show -P ActiveState -P ExecMainStatus -P NRestarts cordon | tr '\n' ' ')"
row 'journal errors' "$(journalctl -t cordon -p err -o cat --no-pager | tail -n 3 | tr '\n' ' ')"
cp /kept /etc/cordon/cordon.toml
systemctl reset-failed cordon; try 'started again' systemctl start cordon

# A secret that nobody types.
mkdir -p /etc/cordon/cred; printf 'a value that is nowhere shown' >/etc/credstore/cordon.example
echo 'HOSTS=--host api.example.com --host www.example.com' >/etc/cordon/cred/example
try credential systemctl start cordon-cred@example
row secrets "$(agentctl cred list --json)"
row 'secret shown' "$(journalctl -o cat --no-pager | grep -c 'nowhere shown')"

# Another version: first one that would not run what is there, then for good.
said b 'remember: the harbour opens at seven' >/dev/null
before=$(main); echo 'nonsense = 1' >>/etc/cordon/cordon.toml
dpkg -i /2.0.deb >/upgrade 2>&1; row 'upgrade refused' "exit $? $(tr '\n' ' ' </upgrade)"
[ "$(main)" = "$before" ] && row 'upgrade kept' ok || row 'upgrade kept' another
cp /kept /etc/cordon/cordon.toml
try upgrade dpkg -i /2.0.deb
another "$before" && row upgraded "$(dpkg-query -W -f '${Version} ${Status}' cordon)" || row upgraded no
row recalled "$(said c 'recall harbour' | tr '\n' ' ')"

# The end.
last=$(main)
try stop systemctl stop cordon
row stopped "$(systemctl show -P ActiveState -P Result cordon | tr '\n' ' ')$(named gate | wc -l)"
systemctl start cordon
try remove dpkg -r cordon
row removed "$(systemctl is-active cordon) $(named gate | wc -l) $(ls -d /usr/libexec/cordon /usr/bin/agentctl 2>/dev/null | wc -l) $(ls -d /var/lib/cordon /etc/cordon/cordon.toml | wc -l)"
try purge dpkg -P cordon
row purged "$(ls -d /var/lib/cordon /etc/cordon 2>/dev/null | wc -l)"
