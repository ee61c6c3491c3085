# A tunnel's life under a real systemd, with scripts that stand for the vendors' programs. Rows are read by tunnel.rs.
say() { local said; said=$("$@" 2>&1); row "$ROW" "exit $? $(tr '\n' ' ' <<<"$said" | sed 's/  */ /g;s/ $//')"; }
named() { grep -lx "$1" /proc/[0-9]*/comm 2>/dev/null | cut -d / -f 3; }
unit=cordon-tunnel@cloudflare
program() { cat >"/usr/local/bin/$1"; chmod 755 "/usr/local/bin/$1"; }
quick() {
    program cloudflared <<'FAKE'
#!/bin/bash
# Writes down how it was started and what it reaches, and says its address as cloudflared does.
grep -E 'NoNewPrivs|CapEff|Seccomp:' /proc/self/status | tr '\t\n' '  ' >"$HOME/inside"
for place in /usr /etc /var/lib/cordon /run/cordon /etc/cordon /etc/credstore; do
    (: >"$place/written") 2>/dev/null && echo "$place"
done >"$HOME/writes"
for place in /etc/cordon/cordon.toml /run/cordon/control.sock /etc/shadow; do
    [ -r "$place" ] && echo "$place"
done >"$HOME/sees"
exec 3<>/dev/tcp/127.0.0.1/8787 && printf 'GET /hook/none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' >&3 && head -n 1 <&3 >"$HOME/reached"
if [ "$TUNNEL_TOKEN" ]; then
    printf %s "$TUNNEL_TOKEN" >"$HOME/token"
    echo '2026-01-01T00:00:00Z INF Updated to new configuration config="{\"ingress\":[{\"hostname\":\"hooks.example.com\",\"service\":\"http://localhost:8787\"},{\"service\":\"http_status:404\"}]}" version=3' >&2
else
    echo '2026-01-01T00:00:00Z INF |  https://shy-dog-42.trycloudflare.com                       |' >&2
fi
until [ -e "$HOME/fall" ]; do sleep 0.1; done
echo '2026-01-01T00:00:00Z ERR the edge is gone' >&2
exit 3
FAKE
}
home=/var/lib/cordon-tunnel-cloudflare

try install dpkg -i /1.0.deb
ROW='not root' say runuser -u nobody -- agentctl tunnel up cloudflare
ROW='no ingress' say agentctl tunnel up cloudflare
ROW=none say agentctl tunnel status --json
cat >>/etc/cordon/cordon.toml <<'CONFIG'
[ingress]
listen = "127.0.0.1:8787"
[channel.in]
platform = "webhook"
secret = "hook"
base_url = "https://hooks.invalid/answers"
CONFIG
systemctl restart cordon
ROW='no program' say agentctl tunnel up cloudflare

# One that gives up at once leaves nothing.
printf '#!/bin/sh\necho "2026-01-01T00:00:00Z ERR failed to request quick Tunnel: no route" >&2\nexit 1\n' | program cloudflared
ROW=refused say agentctl tunnel up cloudflare
row 'refused left' "$(systemctl is-active $unit) $(systemctl is-enabled $unit) $(ls /etc/cordon/tunnel.json /etc/credstore/cordon-tunnel.* 2>/dev/null | wc -l)"

# One that stays.
quick
ROW=up say agentctl tunnel up cloudflare --json
ROW=another say agentctl tunnel up ngrok
ROW=status say runuser -u nobody -- agentctl tunnel status
row enabled "$(systemctl is-enabled $unit)"
row user "$(systemctl show -P User $unit)"
row uid "$(stat -c %u "/proc/$(named cloudflared)")"
row inside "$(cat $home/inside)"
row reached "$(cat $home/reached)"
for place in /usr /etc /var/lib/cordon /run/cordon /etc/cordon /etc/credstore; do
    grep -qx "$place" $home/writes && row "writes $place" yes || row "writes $place" no
done
for place in /etc/cordon/cordon.toml /run/cordon/control.sock /etc/shadow; do
    grep -qx "$place" $home/sees && row "sees $place" yes || row "sees $place" no
done

# Its death, which is the host's in nothing.
touch $home/fall
dead() { ! agentctl tunnel status >/dev/null; }
soon dead
ROW=dead say agentctl tunnel status --json
ROW=host say agentctl status
ROW='host as json' say agentctl status --json
ROW=doctor say agentctl doctor --channels
row answers "$(timeout 60 agentctl chat -m 'echo: still here' </dev/null | tr '\n' ' ')"
rm $home/fall
systemctl restart $unit
ROW=again say agentctl tunnel status --json
ROW=down say agentctl tunnel down
row closed "$(systemctl is-active $unit) $(systemctl is-enabled $unit) $(named cloudflared | wc -l) $(ls /etc/cordon/tunnel.json /etc/credstore/cordon-tunnel.* 2>/dev/null | wc -l)"
ROW='down again' say agentctl tunnel down

# A tunnel of the vendor's dashboard, by a token.
given() { ROW=$1 say bash -c "printf '$2\n' | agentctl tunnel up ${*:3} --json"; }
given named planted-token cloudflare --token
row token "$(stat -c '%a %U' /etc/credstore/cordon-tunnel.cloudflare)"
row 'token given' "$(cat $home/token)"
row 'token shown' "$(cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -c '^planted-token') $(journalctl -o cat --no-pager | grep -c 'planted-token')"
agentctl tunnel down

ROW=manual say agentctl tunnel up manual https://own.example.com/in/ --json
ROW='manual down' say agentctl tunnel down

program ngrok <<'FAKE'
#!/bin/bash
[ "$NGROK_AUTHTOKEN" = planted-key ] && [ "$1 $2 $3" = 'http 127.0.0.1:8787 --config' ] && grep -q 'web_addr: false' "$4" || exit 1
echo "{\"lvl\":\"info\",\"msg\":\"started tunnel\",\"url\":\"${*: -1}\"}"
exec sleep 600
FAKE
given ngrok planted-key ngrok --domain a.ngrok.app
agentctl tunnel down

program tailscaled <<'FAKE'
#!/bin/bash
touch "${3#--socket=}" "${4#--statedir=}/tailscaled.state"
exec sleep 600
FAKE
program tailscale <<'FAKE'
#!/bin/bash
if [ "$2" = up ]; then
    key=${*: -1}
    cat "${key#--auth-key=file:}" >"$HOME/key"
    exit
fi
printf 'Available on the internet:\n\nhttps://cordon.tail9f3a.ts.net/\n|-- proxy http://127.0.0.1:8787\n'
exec sleep 600
FAKE
given tailscale planted-key tailscale
row 'tailscale key' "$(cat /var/lib/cordon-tunnel-tailscale/key)"

dpkg -r cordon
row removed "$(systemctl is-active cordon-tunnel@tailscale) $(named tailscaled | wc -l) $(ls /etc/cordon/tunnel.json /etc/credstore/cordon-tunnel.* 2>/dev/null | wc -l)"
dpkg -P cordon
row purged "$(ls -d /var/lib/cordon-tunnel-* /var/lib/private/cordon-tunnel-* 2>/dev/null | wc -l)"
