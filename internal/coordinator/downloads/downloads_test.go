package downloads

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/fault"
)

// Small downloads share memory by their size, and large ones take turns. Neither waits for the other, nor forever.
func TestDownloadsShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const small, large = 100, 101
		d := NewMemory(4*small, 30*time.Second)
		for bytes, most := range map[uint64]int{small: 4, large: MaxLarge, small / 2: 8} {
			var all []*Download
			for range most {
				held, err := d.Begin(t.Context(), bytes)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, held)
			}
			if _, err := d.Begin(t.Context(), bytes); !fault.Is(err, "TOO_MANY_DOWNLOADS") {
				t.Errorf("another download of %d bytes: %v", bytes, err)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if _, err := d.Begin(ended, bytes); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller who gives up gets %v", err)
			}
			go all[0].End()
			held, err := d.Begin(t.Context(), bytes)
			if err != nil {
				t.Fatalf("with room again: %v", err)
			}
			for _, held := range append(all[1:], held) {
				held.End()
			}
		}
	})
}

// A slow reader keeps its memory until somebody else needs it.
func TestSlowDownloadsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewMemory(0, 30*time.Second)
		begin := func() *Download {
			held, err := d.Begin(t.Context(), 60*fairRate)
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
		if err := send("slow"); !fault.Is(err, gate.SlowReader) {
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
