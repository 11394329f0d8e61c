package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
)

func notice(text string) *cleavev1.Event {
	return &cleavev1.Event{What: &cleavev1.Event_Notice{Notice: &cleavev1.Notice{Message: text}}}
}

// TestEventLogEqualsWhatWasAppended appends and flushes at random and reads everything again from
// the store, where a batch may be of any size.
func TestEventLogEqualsWhatWasAppended(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := store.NewMemory()
		defer state.Close()
		if _, err := state.Lead(context.Background(), "test"); err != nil {
			t.Fatal(err)
		}
		commit := func(txn store.Txn) error { _, err := state.Commit(context.Background(), txn); return err }
		l := New("job", commit)
		var want []*cleavev1.Event
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for range rapid.IntRange(0, 5).Draw(t, "events") {
				size := rapid.SampledFrom([]int{0, 10, 1000, batchBytes, 3 * batchBytes}).Draw(t, "size")
				e := notice(fmt.Sprintf("%d %s", len(want), strings.Repeat("x", size)))
				if err := l.Append(e); err != nil {
					t.Fatal(err)
				}
				want = append(want, e)
			}
			if visible := l.After(0).Events; len(visible) > len(want) {
				t.Fatalf("%d events are visible of %d", len(visible), len(want))
			}
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		loaded, err := Load(context.Background(), state, "job", commit)
		if err != nil {
			t.Fatal(err)
		}
		for _, log := range []*Log{l, loaded} {
			news := log.After(0)
			got := news.Events
			if len(got) != len(want) || news.Ended {
				t.Fatalf("%d events of %d, ended: %v", len(got), len(want), news.Ended)
			}
			for at := range want {
				if !proto.Equal(got[at], want[at]) || got[at].GetSequence() != uint32(at+1) {
					t.Fatalf("event %d is %.100v", at+1, got[at])
				}
			}
		}
		// Small events share keys.
		if len(want) > 0 && len(loaded.stored.keys) > len(want) {
			t.Fatalf("%d keys for %d events", len(loaded.stored.keys), len(want))
		}
	})
}

func TestEventsAreInvisibleUntilDurable(t *testing.T) {
	release := make(chan struct{})
	committed := make(chan struct{}, 1)
	l := New("job", func(store.Txn) error {
		committed <- struct{}{}
		<-release
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.FlushLoop(ctx) }()
	if err := l.Append(notice("hello")); err != nil {
		t.Fatal(err)
	}
	<-committed
	before := l.After(0)
	if len(before.Events) != 0 {
		t.Error("an event is visible before it is durable")
	}
	close(release)
	<-before.Changed
	if visible := l.After(0).Events; len(visible) != 1 {
		t.Errorf("%d events are visible", len(visible))
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestSmallEventsShareAKey(t *testing.T) {
	puts := map[string]int{}
	l := New("job", func(txn store.Txn) error {
		for _, e := range txn.Put {
			puts[e.Key] = len(e.Value)
		}
		return nil
	})
	for i := range 200 {
		if err := l.Append(notice(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if len(puts) != 1 {
		t.Errorf("200 small events took %d keys: %v", len(puts), puts)
	}
}

// A flush that the store refused leaves the log as it was: the next one stores every event once.
func TestARefusedFlushIsRepeated(t *testing.T) {
	var stored []store.Entry
	refuse := true
	l := New("job", func(txn store.Txn) error {
		if refuse {
			return errors.New("no space left")
		}
		stored = txn.Put
		return nil
	})
	for i := range 5 {
		if err := l.Append(
			&cleavev1.Event{
				What: &cleavev1.Event_Iteration{Iteration: &cleavev1.Iteration{Iteration: uint32(i)}}}); err != nil {
			t.Fatal(err)
		}
		if err := l.Flush(); err == nil {
			t.Fatal("the store took events although it refuses them")
		}
	}
	refuse = false
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	batch := &statev1.EventBatch{}
	if len(stored) != 1 || proto.Unmarshal(stored[0].Value, batch) != nil || len(batch.GetEvents()) != 5 {
		t.Errorf("stored %v: %v; want one batch of 5 events", stored, batch)
	}
}

// A transaction may be committed although it failed. The keys of its batches are then among those that whoever ends
// the job deletes.
func TestKeysIncludeThoseOfAFailedFlush(t *testing.T) {
	var written []string
	l := New("job", func(txn store.Txn) error {
		for _, e := range txn.Put {
			written = append(written, e.Key)
		}
		return errors.New("the answer is lost")
	})
	if err := l.Append(notice("one")); err != nil {
		t.Fatal(err)
	}
	if l.Flush() == nil {
		t.Fatal("a flush whose commit failed succeeded")
	}
	if got := l.Keys(); len(written) != 1 || !slices.Equal(got, written) {
		t.Errorf("the keys are %q; %q were written", got, written)
	}
}

// A run that starts over after an upgrade repeats events in other words. Other events are a mismatch.
func TestRepeatedEventsMayHaveOtherWords(t *testing.T) {
	said := func(reason, words string) *cleavev1.Event {
		return &cleavev1.Event{What: &cleavev1.Event_Notice{Notice: &cleavev1.Notice{
			Reason: reason, Message: words,
			Parts: []*cleavev1.MessagePart{{Part: &cleavev1.MessagePart_Text{Text: words}}},
		}}}
	}
	shifted := func(sigma float64, words string) *cleavev1.Event {
		return &cleavev1.Event{What: &cleavev1.Event_Shift{Shift: &cleavev1.ShiftChange{Sigma: sigma, Why: words}}}
	}
	for _, c := range []struct {
		before, now *cleavev1.Event
		same        bool
	}{
		{said("A", "old"), said("A", "new"), true},
		{said("A", "old"), said("B", "old"), false},
		{shifted(1, "old"), shifted(1, "new"), true},
		{shifted(1, "old"), shifted(2, "old"), false},
		{said("A", "old"), shifted(1, "old"), false},
	} {
		for _, doubt := range []string{"", "the numeric class changed"} {
			l := New("job", func(store.Txn) error { return nil })
			if err := l.Append(c.before); err != nil {
				t.Fatal(err)
			}
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			l.SetDoubt(doubt)
			l.toRepeat = valid(l.durable)
			err := l.Append(proto.CloneOf(c.now))
			if mismatch := errors.Is(err, ErrMismatch); doubt == "" && mismatch == c.same {
				t.Errorf("%v after %v gives %v", c.now, c.before, err)
			}
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			if revoked := len(l.After(0).Events) > 1; doubt != "" && !revoked {
				t.Errorf("%v stays although it is in doubt and is now %v", c.before, c.now)
			}
		}
	}
}
