#!/usr/bin/env bash
# Runs deploy/slurm/cleave.sbatch in a Slurm of its own, with Debian's programs, three nodes on this machine, and no
# settings of the system. It checks that the labels are those of one machine
#
#   - on three nodes,
#   - if a node is lost during the job: its slurmd and everything that it started are killed,
#   - if the first node is lost, with the script and the coordinator: Slurm requeues the job, and it goes on from its
#     snapshot,
#   - if the time limit ends the job and a second allocation continues it, which repeats no iteration that was reported,
#   - if the script requeues itself.
#
#   scripts/test-slurm.sh          # needs root
#   scripts/test-slurm.sh missing  # prints the Debian packages that are missing, or nothing
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for tool in slurmctld:slurmctld slurmd:slurmd sbatch:slurm-client munged:munge; do
    command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
if [ "${1:-}" = missing ]; then
    echo "${missing[*]}"
    exit
fi
fail() {
    echo "test-slurm: $*" >&2
    tail -n 20 "$work"/job-*.txt "$work"/run/slurmctld.log >&2 2>/dev/null || true
    exit 1
}
[ ${#missing[@]} = 0 ] || fail "these programs are missing: apt-get install ${missing[*]}"
[ "$(id -u)" = 0 ] || fail 'the daemons of Slurm need root'

work=$(mktemp -d)
chmod 755 "$work" # munged insists
daemons=()
cleanup() {
    scancel --user="$(id -un)" 2>/dev/null || true
    for ((i = 0; i < 60; i++)); do
        [ -n "$(squeue --noheader 2>/dev/null)" ] || break
        sleep 0.5
    done
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap cleanup EXIT

CGO_ENABLED=0 go build -trimpath -tags disable_grpc_modules -o "$work/bin/" ./cmd/...
script=$PWD/deploy/slurm/cleave.sbatch
cd "$work"
mkdir run state spool
export SLURM_CONF=$work/slurm.conf CLEAVE_BIN=$work/bin

# Slurm, with ports that nobody uses by default.
cat >slurm.conf <<END
ClusterName=cleave
SlurmctldHost=localhost
SlurmctldPort=27817
SlurmUser=root
AuthInfo=socket=$work/run/munge.socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
SlurmctldPidFile=$work/run/slurmctld.pid
SlurmdPidFile=$work/run/slurmd-%n.pid
SlurmctldLogFile=$work/run/slurmctld.log
SlurmdLogFile=$work/run/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=5
SchedulerParameters=sched_interval=1,batch_sched_delay=1
MinJobAge=600
$(for n in 1 2 3; do echo "NodeName=n$n NodeHostname=localhost Port=2782$n CPUs=1 RealMemory=2000"; done)
PartitionName=all Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP
END
head -c 1024 /dev/urandom >munge.key
chmod 600 munge.key
munged --force --foreground --key-file="$work/munge.key" --socket="$work/run/munge.socket" \
    --pid-file="$work/run/munged.pid" \
    --log-file="$work/run/munged.log" --seed-file="$work/run/munged.seed" >run/munged.out 2>&1 &
daemons+=($!)
until [ -S run/munge.socket ]; do
    kill -0 "${daemons[0]}" 2>/dev/null || fail "munged ended: $(cat run/munged.out)"
    sleep 0.1
done
slurmctld -D >run/slurmctld.out 2>&1 &
daemons+=($!)
declare -A slurmd
start() { # start NODE
    mkdir -p "spool/$1"
    slurmd -D -N "$1" >>"run/$1.out" 2>&1 &
    slurmd[$1]=$!
    daemons+=($!)
}
for node in n1 n2 n3; do start $node; done
await() { # await SECONDS WHAT CONDITION...
    local seconds=$1 what=$2 began=$SECONDS
    shift 2
    until "$@" 2>/dev/null; do
        ((SECONDS - began < seconds)) || fail "$what, after $seconds s"
        sleep 0.25
    done
}
idle() { [ "$(sinfo --noheader --states=idle --format=%n --Node | wc -l)" = 3 ]; }
await 60 'the nodes are not idle' idle

"$CLEAVE_BIN/cleave" generate two-moons --n 6000 --noise 0.4 --seed 1 --out moons >/dev/null
job=(--data moons/data.csv --k 12 --algorithm kernel-kmeans --restarts 500 --max-iterations 60 --seed 3 --quiet)
"$CLEAVE_BIN/cleave" run "${job[@]}" --out here >/dev/null

submit() { sbatch --parsable --nodes=3 --output="$work/job-%j.txt" "$@"; }
state() { scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'; }
ended() { case $(state "$1") in COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) ;; *) return 1 ;; esac; }
code() { scontrol show job "$1" | sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p'; }
logged() { grep -q "$2" .cleave/logs-"$1"/coordinator.log; }
same() { # same FOLDER WHAT
    cmp -s here/labels.csv "$1/labels.csv" || fail "the labels differ $2"
    [ -e "$1/_SUCCESS" ] || fail "the output is not complete $2"
}

# Three nodes, and one of them is lost.
id=$(submit --time=30 "$script" "${job[@]}" --out lost)
await 120 'the job does not run' logged "$id" 'job started'
doomed=$(pgrep -f -- "^$work/bin/worker .*--name n3 ") || fail 'there is no worker on n3'
kill -KILL "${slurmd[n3]}" "$(ps -o ppid= "$doomed" | tr -d ' ')" "$doomed"
await 600 'the job does not end' ended "$id"
[ "$(code "$id")" = 0 ] || fail "the job ended with exit code $(code "$id") after the loss of a node"
logged "$id" 'did not return.*n3\|is silent.*n3' ||
    fail "the loss of n3 was not noticed: $(cat .cleave/logs-"$id"/coordinator.log)"
same lost 'after the loss of a node'
echo "test-slurm: a node was lost; $(grep '^time' "job-$id.txt" | tr -s ' ')"
start n3
await 60 'the lost node does not come back' idle

# The first node is lost, with everything that runs on it: the script, the coordinator, a worker.
rm -rf .cleave
descendants() { # descendants PID prints the PID and those of all processes below it
    local child
    echo "$1"
    for child in $(pgrep -P "$1"); do descendants "$child"; done
}
id=$(submit --time=30 "$script" "${job[@]}" --out moved)
await 120 'the job does not run' logged "$id" 'job started'
stored() { compgen -G '.cleave/coordinator/blobs/jobs/*/snapshots/*' >/dev/null; }
await 120 'the job stores no snapshot' stored
await 60 'no other node watches the first one' grep -q watching .cleave/logs-"$id"/requeue.log
batch=$(pgrep -f "slurmstepd: \\[$id.batch\\]") || fail 'the script does not run'
first=$(pgrep -f -- "^$work/bin/worker .*--name n1 ") || fail 'there is no worker on n1'
kill -KILL "${slurmd[n1]}" $(descendants "$batch") "$(ps -o ppid= "$first" | tr -d ' ')" "$first"
restarted() { scontrol show job "$id" | grep -q 'Restarts=1'; }
await 180 'the job is not requeued' restarted
start n1
scontrol update JobId="$id" StartTime=now # requeued jobs wait two minutes otherwise
await 600 'the requeued job does not end' ended "$id"
[ "$(code "$id")" = 0 ] || fail "the job ended with exit code $(code "$id") after the loss of the first node"
same moved 'after the loss of the first node'
logged "$id" 'resumes from a snapshot' || fail 'the job started over after the loss of the first node'
echo 'test-slurm: the first node was lost, and the job went on from its snapshot'
await 60 'the first node does not come back' idle

# The time limit, and a second allocation.
rm -rf .cleave
first=$(submit --time=1 --signal=B:TERM@45 "$script" "${job[@]}" --out resumed)
await 180 'the job goes beyond its time limit' ended "$first"
[ "$(state "$first") $(code "$first")" = 'FAILED 75' ] ||
    fail "at the time limit the job is $(state "$first"), with exit code $(code "$first")"
[ ! -e resumed/_SUCCESS ] || fail 'the job ended before its time limit'
second=$(submit --time=30 "$script" "${job[@]}" --out resumed)
await 600 'the second allocation does not end' ended "$second"
[ "$(code "$second")" = 0 ] || fail "the second allocation ended with exit code $(code "$second")"
same resumed 'in the second allocation'
events=$(sed -n 's/.*job is resumed.* events=\([0-9]*\).*/\1/p' .cleave/logs-"$second"/coordinator.log)
steps=$(sed -n 's/.*goes on from a snapshot.* steps=\([0-9]*\).*/\1/p' .cleave/logs-"$second"/coordinator.log)
[ -n "$steps" ] && ((steps >= events && events > 0)) ||
    fail "the second allocation goes on after ${steps:-no} steps, of $events that were reported"
echo "test-slurm: a second allocation went on after $steps steps, of which $events had been reported"

# The same by itself.
rm -rf .cleave
id=$(CLEAVE_REQUEUE=1 submit --time=30 "$script" "${job[@]}" --out requeued)
await 120 'the job does not run' logged "$id" 'job started'
scancel --batch --signal=TERM "$id"
await 180 'the job is not requeued' restarted
scontrol update JobId="$id" StartTime=now # requeued jobs wait two minutes otherwise
await 600 'the requeued job does not end' ended "$id"
[ "$(code "$id")" = 0 ] || fail "the requeued job ended with exit code $(code "$id")"
same requeued 'after a requeue'
logged "$id" 'resumes from a snapshot' || fail 'the requeued job started over'

# Nothing is left: no certificates, no processes.
[ -z "$(find .cleave -name 'key.pem')" ] || fail 'keys are left behind'
if pgrep -f "^$work/bin/" >/dev/null; then fail "processes are left: $(pgrep -af "^$work/bin/")"; fi
id=$(submit --time=1 "$script")
await 60 'a script without arguments does not end' ended "$id"
[ "$(code "$id")" = 2 ] && grep -q 'give the arguments of cleave run' "job-$id.txt" ||
    fail 'a script without arguments is accepted'
echo 'test-slurm: passed'
