package clustertest

import (
	"os"
	"path/filepath"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// storeFaults are what happens where state and blobs are stored, and to one of several coordinators. The tests of
// failover_test.go and outage_test.go have most of them once.
func storeFaults() []disturbance {
	return []disturbance{
		{name: "the leader of three is killed", load: longPoints, soakOnly: true, begin: beginThree,
			strike: killLeader},
		{name: "the leader of three pauses beyond its lease and wakes up", load: longPoints, soakOnly: true,
			begin: beginThree, strike: pauseLeader},
		{name: "a member of etcd is killed", load: longPoints, soakOnly: true, begin: beginThree,
			strike: func(r *faultRun) { killMembers(r, 1) }},
		{name: "two of three members of etcd are killed", load: longPoints, soakOnly: true, begin: beginThree,
			strike: func(r *faultRun) { killMembers(r, 2) }},
		{name: "the object store is down", load: faultPoints, soakOnly: true, begin: beginObjects, strike: stopObjects},
		{name: "the disk is full", load: faultPoints, soakOnly: true, needs: needsMounts, begin: beginSmallDisk,
			strike: fillDisk},
	}
}

func beginThree(r *faultRun, o Options) { r.lead(StartCoordinators(r, 3, o)) }

// lead lets the run have several coordinators, and clients that follow the leader.
func (r *faultRun) lead(group *Coordinators) {
	leader := group.Leader()
	r.group = group
	r.c = &Coordinator{Process: leader.Process, Client: group.Client, Addr: group.Addresses(), options: leader.options}
}

func killLeader(r *faultRun) {
	r.iterate()
	r.w.StillRunning()
	leader := r.group.Leader()
	r.breaks = r.w.Breaks + 1
	r.mark()
	leader.Kill()
	r.group.Leader(r.group.Others(leader)...)
}

// pauseLeader stops the leader until another one leads. When it wakes up it must not write or command.
func pauseLeader(r *faultRun) {
	r.iterate()
	r.w.StillRunning()
	leader := r.group.Leader()
	r.mark()
	leader.Pause()
	r.Cleanup(leader.Resume)
	next := r.group.Leader(r.group.Others(leader)...)
	r.c = next
	r.w.client = &next.Client // the stream of a process that stands still does not break
	r.w.open()
	r.later(time.Duration(r.rng.IntN(1000))*time.Millisecond, leader.Resume)
}

// killMembers kills members of etcd. With two of three gone nothing can be stored, and nobody leads.
func killMembers(r *faultRun, count int) {
	r.iterate()
	r.w.StillRunning()
	members := r.group.Etcd.Members
	r.rng.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
	killed := members[:count]
	r.mark()
	for _, m := range killed {
		m.Kill()
	}
	r.later(time.Duration(r.rng.IntN(6000))*time.Millisecond, func() { // the lease is 3 seconds
		for _, m := range killed {
			m.launch(r)
		}
	})
}

// objects is where the run has its blobs, so that they can be taken away.
type objects struct {
	server *ObjectStore // or
	disk   string
}

func beginObjects(r *faultRun, o Options) {
	s3 := StartObjectStore(r)
	r.blobs.server = s3
	o.Args = append(o.Args, s3.Options().Args...)
	r.c = StartCoordinator(r, o)
}

// stopObjects stops the object store until the result waits for it. It has struck when it is over: until then nothing
// is missing but the end.
func stopObjects(r *faultRun) {
	r.iterate()
	r.blobs.server.Kill()
	r.awaitWaiting()
	r.blobs.server.Restart()
	r.mark()
}

func beginSmallDisk(r *faultRun, o Options) {
	r.blobs.disk = smallDisk(r)
	o.Args = append(o.Args, "--blobs", filepath.Join(r.blobs.disk, "blobs"))
	r.c = StartCoordinator(r, o)
}

// fillDisk fills the disk until the result waits for space.
func fillDisk(r *faultRun) {
	r.iterate()
	filler := fill(r, r.blobs.disk)
	r.awaitWaiting()
	if err := os.Remove(filler); err != nil {
		r.Fatal(err)
	}
	r.mark()
}

// awaitWaiting waits until the run is done and its result cannot be stored.
func (r *faultRun) awaitWaiting() {
	r.Helper()
	r.w.UntilProgress("the result waits", func(p *cleavev1.Progress) bool {
		return p.GetPhase() == cleavev1.Phase_PHASE_WAITING
	})
}
