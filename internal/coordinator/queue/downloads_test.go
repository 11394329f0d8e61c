package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
)

// Small downloads share their memory, and large ones what others leave. Neither waits for the other, nor forever.
func TestDownloadsShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const small, large = 100, 101
		shared := NewBudget(2 * large)
		d := NewDownloadMemory(shared.Share(4*small), shared.Share(0), 30*time.Second)
		var all []*Download
		begin := func(bytes uint64, most int) {
			for range most {
				held, err := d.Begin(t.Context(), bytes)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, held)
			}
		}
		begin(large, 2)
		begin(small, 4)
		for _, bytes := range []uint64{small, large, 1} {
			if _, err := d.Begin(t.Context(), bytes); !fault.Is(err, "TOO_MANY_DOWNLOADS") {
				t.Errorf("another download of %d bytes: %v", bytes, err)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if _, err := d.Begin(ended, bytes); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller who gives up gets %v", err)
			}
		}
		go all[0].End()
		begin(large, 1)
		go all[2].End()
		begin(small/2, 2)
		for _, held := range all {
			held.End()
		}
		if d.small.Held()+d.large.Held() != 0 {
			t.Errorf("%d and %d bytes are held", d.small.Held(), d.large.Held())
		}
	})
}

// A slow reader keeps its memory until somebody else needs it.
func TestSlowDownloadsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bytes = 60 * fairRate
		shared := NewBudget(2 * bytes)
		d := NewDownloadMemory(shared.Share(0), shared.Share(0), 30*time.Second)
		begin := func() *Download {
			held, err := d.Begin(t.Context(), bytes)
			if err != nil {
				t.Error(err)
			}
			return held
		}
		begin()
		slow := begin()
		send := Paced(slow, func(string) error { return nil })
		time.Sleep(time.Hour)
		if err := send("alone"); err != nil {
			t.Errorf("while nobody waits: %v", err)
		}
		others := make(chan *Download)
		go func() { others <- begin() }()
		synctest.Wait()
		if err := send("slow"); !fault.Is(err, SlowReader) {
			t.Errorf("while another download waits: %v", err)
		}
		slow.End()
		fresh := <-others
		go func() { others <- begin() }()
		synctest.Wait()
		if err := Paced(fresh, func(string) error { return nil })("in time"); err != nil {
			t.Errorf("a download that has just begun: %v", err)
		}
		fresh.End()
		<-others
	})
}
