# On a kernel without landlock: what each mode says, and what the unit leaves of control groups, which are real here.
try install dpkg -i /1.0.deb
sleep 2
row unit "$(systemctl show -P ActiveState -P ExecMainStatus -P NRestarts cordon | tr '\n' ' ')"
row said "$(journalctl -t cordon -p err -o cat --no-pager | tr '\n' ' ')"
agentctl doctor --json >/doctor.json; row doctor "exit $? $(tr -d '\n' </doctor.json)"

useradd -m ada
refusal() {
    local name=$1 mode=$2; shift 2
    printf '[host]\nmode = "%s"\n' "$mode" >"/$name.toml"; chmod 644 "/$name.toml"
    "$@" agentd run --config "/$name.toml" --state-dir "/home/ada/$name" --runtime-dir "/home/ada/$name-run" >"/$name" 2>&1
    row "$name" "exit $? $(tr '\n' ' ' <"/$name")"
}
refusal system system
refusal user user runuser -u ada --
refusal flat flat runuser -u ada --

# The unit as it is, with another program in agentd's place: its own groups and no other.
mkdir -p /etc/systemd/system/cordon.service.d
printf '[Service]\nType=oneshot\nExecStart=\nExecStart=/bin/sh /groups\n' >/etc/systemd/system/cordon.service.d/groups.conf
cat >/groups <<'GROUPS'
own=/sys/fs/cgroup$(cut -d : -f 3 /proc/self/cgroup)
mkdir "$own/jail" && echo $$ >"$own/jail/cgroup.procs" && echo own >/run/cordon/own
echo '+memory +pids' >"$own/cgroup.subtree_control" && echo 67108864 >"$own/jail/memory.max" && echo limits >>/run/cordon/own
mkdir /sys/fs/cgroup/system.slice/other && echo other >>/run/cordon/own
cp /run/cordon/own /var/lib/cordon/own
GROUPS
systemctl daemon-reload; systemctl reset-failed cordon; systemctl restart cordon
row kind "$(stat -f -c %T /sys/fs/cgroup)"
row groups "$(tr '\n' ' ' </var/lib/cordon/own)"

# What agentd does with groups that are its own to divide.
row limits "$(systemd-run --quiet --wait --pipe -p Delegate=yes /agentd-tests --ignored the_kernel_limits_a_jails 2>&1 | tr '\n' ' ')"
