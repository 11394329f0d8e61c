package worker

import (
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// A worker tries all coordinators before it pauses, and first the one that a standby names, unless that has just
// failed.
func TestTheLeaderIsLookedFor(t *testing.T) {
	l, err := newLeader("a:1, b:1,c:1,a:1", func(string) ([]grpc.DialOption, error) {
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	standby := func(leader string) error {
		return wire.Status(fault.New(fault.Unavailable, wire.NotLeader, "a standby").With(wire.LeaderKey, leader))
	}
	broken := errors.New("it is gone")
	var tried []string
	pauses := 0
	for _, answer := range []error{broken, standby("a:1"), standby("d:1"), broken, standby("b:1"), broken} {
		tried = append(tried, l.Current)
		if l.failed(answer) {
			pauses++
		}
	}
	if want := []string{"a:1", "b:1", "c:1", "d:1", "c:1", "b:1"}; !slices.Equal(tried, want) || pauses != 1 {
		t.Errorf("tried %v with %d pauses, want %v", tried, pauses, want)
	}
}

// A coordinator that led before the last one that the worker has seen gets nothing from it.
func TestAnEarlierLeaderIsRefused(t *testing.T) {
	terms := []int64{5, 4, 6}
	streams := 0
	err := runAgainst(t, func(stream workerv1.WorkerService_AttachServer) error {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if want := []int64{0, 5, 5}[streams]; m.GetHello().GetTerm() != want {
			t.Errorf("stream %d comes with term %d, want %d", streams, m.GetHello().GetTerm(), want)
		}
		w := welcome("session", false)
		w.GetWelcome().Term = terms[streams]
		streams++
		if err := stream.Send(w); err != nil {
			return err
		}
		_, err = stream.Recv() // a heartbeat, or the end
		if refused := err != nil; refused != (streams == 2) {
			t.Errorf("the coordinator of term %d was refused: %v", terms[streams-1], refused)
		}
		if streams == 3 {
			return stream.Send(farewell)
		}
		return errors.New("a break")
	})
	if err != nil || streams != 3 {
		t.Errorf("ended after %d streams with %v", streams, err)
	}
}

// A coordinator of an earlier term is refused for a while only: after that it is one with another data directory, or
// with a backup.
func TestAnEarlierTermWillDoAfterAWhile(t *testing.T) {
	streams, refused, taken := 0, 0, false
	err := runKeeping(t, 50*time.Millisecond, func(stream workerv1.WorkerService_AttachServer) error {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		w := welcome("session", false)
		switch streams++; {
		case streams == 1:
			w.GetWelcome().Term = 5
			return errors.Join(stream.Send(w), errors.New("a break"))
		case m.GetHello().GetTerm() > 2:
			refused++
			return wire.Unavailable(wire.NotLeader, "the worker has seen a later leader")
		}
		w.GetWelcome().Term = 2
		if err := stream.Send(w); err != nil {
			return err
		}
		_, err = stream.Recv() // a heartbeat
		taken = err == nil
		return stream.Send(farewell)
	})
	if err != nil || refused == 0 || !taken {
		t.Errorf("ended after %d streams, %d of them refused, with %v; the earlier term was taken: %v", streams,
			refused, err, taken)
	}
}
