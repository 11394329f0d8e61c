package worker

import (
	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/wire"
)

// leader finds the coordinator that leads among those that the worker knows. It tries one after the other, preferring
// the one that a standby names.
type leader struct {
	*dial.Candidates
	tried map[string]bool // tried without success since the last pause
}

func newLeader(addresses string, options func(address string) ([]grpc.DialOption, error)) (*leader, error) {
	all, err := dial.NewCandidates(addresses, options)
	return &leader{Candidates: all, tried: map[string]bool{}}, err
}

// client returns a client of the coordinator to try next.
func (l *leader) client() (workerv1.WorkerServiceClient, error) {
	c, err := l.Connection()
	if err != nil {
		return nil, err
	}
	c.ResetConnectBackoff() // the worker paces its attempts itself
	return workerv1.NewWorkerServiceClient(c), nil
}

// failed chooses the coordinator to try after an error. It reports whether all have been tried, so that it is time
// for a pause.
func (l *leader) failed(err error) (triedAll bool) {
	l.tried[l.Current] = true
	if hint, _ := wire.LeaderOf(err); hint != "" && !l.tried[hint] {
		l.Current = hint
		return false
	}
	for range l.Count() {
		if l.Advance(); !l.tried[l.Current] {
			return false
		}
	}
	clear(l.tried)
	return true
}
