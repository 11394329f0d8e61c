#!/usr/bin/env bash
# Starts a cluster on three machines, from nothing to a first job, as docs/operations/machines.md says, and times it.
#
# The machines are systemd-nspawn containers with Debian and its systemd, each in a network namespace of its own, joined
# by a bridge. The packages are installed by dpkg, the units are started by systemd, and cleave up calls the machines by
# ssh. It then checks that the labels of a job are those of one machine, also while a machine is lost, and that a second
# cleave up changes nothing.
#
#   scripts/test-machines.sh          # needs root
#   scripts/test-machines.sh missing  # prints the Debian packages that are missing, or nothing
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for tool in debootstrap:debootstrap systemd-nspawn:systemd-container ip:iproute2 ssh:openssh-client openssl:openssl; do
    command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
if [ "${1:-}" = missing ]; then
    echo "${missing[*]}"
    exit
fi
fail() {
    echo "test-machines: $*" >&2
    exit 1
}
[ ${#missing[@]} = 0 ] || fail "these programs are missing: apt-get install ${missing[*]}"
[ "$(id -u)" = 0 ] || fail 'containers and network namespaces need root'

work=$(mktemp -d)
base=${CLEAVE_DEBIAN:-/var/cache/cleave-test/debian} # is kept, since it takes minutes to fetch
net=10.77.84
names=(c w1 w2)
declare -A pid
# lose NAME ends a machine as if its power failed: the first process of the container, and with it all others.
lose() {
    local first
    first=$(pgrep -P "${pid[$1]}") && kill -KILL $first
    wait "${pid[$1]}" 2>/dev/null || true
    unset "pid[$1]"
}
cleanup() {
    for name in "${!pid[@]}"; do lose "$name" || true; done
    [ -z "${job:-}" ] || kill "$job" 2>/dev/null || true
    wait 2>/dev/null || true
    for name in "${names[@]}"; do
        umount -l "$work/$name/root" 2>/dev/null || true
        ip netns del "cleave-$name" 2>/dev/null || true
        ip link del "cleave-$name" 2>/dev/null || true
    done
    ip link del cleave-br 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

if [ ! -e "$base/.complete" ]; then
    echo "test-machines: fetching Debian into $base"
    rm -rf "$base"
    mkdir -p "$base"
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,openssh-server bookworm "$base" \
        >"$work/debootstrap.log" ||
        { tail -5 "$work/debootstrap.log"; fail 'debootstrap failed'; }
    touch "$base/.complete"
fi

# The machines.
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
ip link add cleave-br type bridge
ip addr add $net.254/24 dev cleave-br
ip link set cleave-br up
boot() { # boot NAME NUMBER
    local dir=$work/$1
    mkdir -p "$dir"/{root,upper,work}
    mount -t overlay overlay -o "lowerdir=$base,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
    install -d -m 700 "$dir/root/root/.ssh"
    install -m 600 "$work/key.pub" "$dir/root/root/.ssh/authorized_keys"
    echo "$1" >"$dir/root/etc/hostname"
    ip netns add "cleave-$1"
    ip link add "cleave-$1" type veth peer name eth0 netns "cleave-$1"
    ip link set "cleave-$1" master cleave-br up
    ip -n "cleave-$1" addr add "$net.$2/24" dev eth0
    ip -n "cleave-$1" link set lo up
    ip -n "cleave-$1" link set eth0 up
    systemd-nspawn --quiet --directory="$dir/root" --boot --register=no --keep-unit --machine="$1" \
        --network-namespace-path="/run/netns/cleave-$1" </dev/null >"$dir/boot.log" 2>&1 &
    pid[$1]=$!
}
for at in 0 1 2; do boot "${names[at]}" $((at + 1)); done
c=$net.1 w1=$net.2 w2=$net.3
ssh=(ssh -i "$work/key" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR)
on() { # on HOST COMMAND...
    local host=$1
    shift
    "${ssh[@]}" -o BatchMode=yes -o ConnectTimeout=5 "$host" "$@"
}
for host in $c $w1 $w2; do
    for ((i = 0; ; i++)); do
        on "$host" true 2>/dev/null && break
        ((i < 240)) || fail "$host does not boot: $(tail -5 "$work"/*/boot.log)"
        read -rt 0.25 <> <(:) || true
    done
done
on $c test -d /run/systemd/system || fail 'systemd does not run on the machines'

# From nothing to a first job.
export CLEAVE_CONFIG_DIR=$work/config
cd "$work"
echo "test-machines: $(wc -l <<<"$(printf '%s\n' "${names[@]}")") machines run"
began=$EPOCHREALTIME
# 1. the packages
"$OLDPWD/scripts/packages.sh" dist "$(dpkg --print-architecture)" >packages.log
packages=$EPOCHREALTIME
# 2. the command line: apt install, elsewhere
dpkg-deb --extract dist/cleave_*.deb client
cleave=$work/client/usr/bin/cleave
# 3. certificates, packages, units, start, login
"$cleave" up --packages dist --ssh "${ssh[*]}" $c $w1 $w2
up=$EPOCHREALTIME
# 4. something to cluster
"$cleave" generate gaussians --n 6000 --k 5 --seed 3 --out blobs >/dev/null
run=(--data blobs/data.csv --k 5 --algorithm kernel-kmeans --restarts 20 --seed 7 --quiet)
# 5. the first job
"$cleave" run "${run[@]}" --out cluster >/dev/null
ended=$EPOCHREALTIME
seconds() { awk "BEGIN {printf \"%.1f s\", $2 - $1}"; }
echo "test-machines: packages $(seconds "$began" "$packages"), cleave up $(seconds "$packages" "$up")," \
    "first job $(seconds "$up" "$ended"), in all $(seconds "$began" "$ended")"

workers=$("$cleave" workers --json | grep -c '"WORKER_STATE_READY"')
[ "$workers" = 2 ] || fail "$workers workers are attached"
CLEAVE_CONFIG_DIR=$work/none "$cleave" run "${run[@]}" --out here >/dev/null
cmp cluster/labels.csv here/labels.csv || fail 'the labels of the cluster differ from those of one machine'

# Keys are root's alone; the service has them, and no other rights.
for host in $w1 $w2; do
    [ "$(on $host stat -c '%U:%a' /etc/cleave/tls/worker/key.pem)" = root:600 ] ||
        fail 'the key of a worker is readable by others'
    [ "$(on $host ps -o user= -C cleave-worker)" = cleave ] || fail 'a worker does not run as the user cleave'
done
[ "$(on $c stat -c '%U:%a' /var/lib/cleave)" = cleave:700 ] || fail 'the state is readable by others'

# await_certificate ADDRESS ROLE waits until an address shows the certificate in certs/ROLE.
await_certificate() {
    local wanted serial i
    wanted=$(openssl x509 -noout -serial -in "certs/$2/cert.pem")
    for ((i = 0; ; i++)); do
        serial=$(openssl s_client -connect "$1" -alpn h2 </dev/null 2>/dev/null | openssl x509 -noout -serial) || true
        [ "$serial" != "$wanted" ] || return 0
        ((i < 240)) || fail "$1 does not show its new certificate"
        read -rt 0.25 <> <(:) || true
    done
}

# The same command again changes nothing, and renewed certificates are shown without a restart.
main() { on "$1" systemctl show --property MainPID --value "cleave-$2"; }
before="$(main $c coordinator) $(main $w1 worker) $(main $w2 worker)"
"$cleave" up --packages dist --ssh "${ssh[*]}" $c $w1 $w2 2>again.log
[ "$before" = "$(main $c coordinator) $(main $w1 worker) $(main $w2 worker)" ] ||
    fail 'a second cleave up restarted something'
"$cleave" certs worker --renew --dir certs >/dev/null
"$cleave" up --packages dist --ssh "${ssh[*]}" $c $w1 $w2 2>again.log
await_certificate $w1:7401 worker
await_certificate $w2:7401 worker

# Nor does a certificate that is copied by hand restart anything.
"$cleave" certs coordinator --renew --dir certs >/dev/null
"${ssh[@]}" $c 'cat >/etc/cleave/tls/coordinator/cert.pem' <certs/coordinator/cert.pem
"${ssh[@]}" $c 'cat >/etc/cleave/tls/coordinator/key.pem' <certs/coordinator/key.pem
await_certificate $c:7400 coordinator
[ "$before" = "$(main $c coordinator) $(main $w1 worker) $(main $w2 worker)" ] ||
    fail 'new certificates restarted something'
"$cleave" workers >/dev/null || fail 'the coordinator does not answer with its new certificate'

# A machine is lost during a job.
long=("${run[@]}" --restarts 200)
CLEAVE_CONFIG_DIR=$work/none "$cleave" run "${long[@]}" --out here >/dev/null
"$cleave" run "${long[@]}" --out lost >/dev/null &
job=$!
for ((i = 0; ; i++)); do
    "$cleave" workers --json | grep -A12 '"w2"' | grep -q '"tiles"' && break
    ((i < 240)) || fail 'the job does not come to the second worker'
    read -rt 0.1 <> <(:) || true
done
lose w2
wait $job || fail 'the job failed after the loss of a machine'
[ "$("$cleave" workers --json | grep -c '"WORKER_STATE_READY"')" = 1 ] || fail 'the machine was not lost'
cmp here/labels.csv lost/labels.csv || fail 'the labels differ after the loss of a machine'

# A machine that is not there is named.
if "$cleave" up --ssh "${ssh[*]}" --wait 5s $c $net.77 2>refused.log; then
    fail 'a machine that does not exist was accepted'
fi
grep -q "$net.77 cannot be reached" refused.log || fail "the refusal says: $(cat refused.log)"
# What the packages own, and that it goes with them: all but keys, settings and data.
owned=$(on $w1 dpkg -L cleave-worker | while read -r path; do
    on_disk=$(on $w1 "[ -d $path ] || echo $path" </dev/null)
    echo "$on_disk"
done | grep . | sort)
[ "$owned" = '/etc/cleave/worker.env
/usr/bin/cleave-worker
/usr/lib/systemd/system/cleave-worker-tls.path
/usr/lib/systemd/system/cleave-worker-tls.service
/usr/lib/systemd/system/cleave-worker.service
/usr/lib/sysusers.d/cleave-worker.conf
/usr/share/doc/cleave-worker/copyright' ] ||
    fail "cleave-worker owns $owned"
settings=$(on $w1 dpkg-query --show --showformat='\${Conffiles}' cleave-worker | awk '{print $1}')
[ "$settings" = /etc/cleave/worker.env ] || fail 'worker.env is no configuration file'
on $w1 dpkg --remove cleave-worker >/dev/null 2>&1
on $w1 "! systemctl --quiet is-active cleave-worker && ! systemctl --quiet is-enabled cleave-worker 2>/dev/null &&
    test -s /etc/cleave/worker.env && test -s /etc/cleave/tls/worker/key.pem" ||
    fail 'removing cleave-worker leaves it running, or removes its settings'

# The same commit gives the same packages, wherever it is built.
for folder in one another/place; do
    git clone --quiet "$OLDPWD" "$work/$folder"
    "$work/$folder/scripts/packages.sh" "$work/$folder/dist" "$(dpkg --print-architecture)" >>packages.log
done
diff -r one/dist another/place/dist || fail 'two builds of a commit differ'
echo 'test-machines: passed'
