package snapshot

import (
	"bytes"
	"testing"
)

// A state that has no room beside the one before replaces it, and what has no room at all is reported.
func TestLargeStatesReplaceThemselves(t *testing.T) {
	m := NewMemory(1000, nil)
	ctx := With(t.Context(), m)
	p := Open(ctx, "search")
	other := Open(ctx, "other")
	other.Keep(100, func(w *Writer) { w.Append(make([]byte, 100)) })
	for step := byte(1); step < 10; step++ {
		m.Ask()
		p.Keep(700, func(w *Writer) { w.Append(bytes.Repeat([]byte{step}, 700)) })
		if len(p.bytes) != 700 || p.bytes[0] != step {
			t.Fatalf("after step %d the state has %d bytes: %v", step, len(p.bytes), p.bytes[:min(1, len(p.bytes))])
		}
	}
	if refused, _ := m.Refused(); refused != 0 {
		t.Errorf("%d bytes were refused", refused)
	}
	m.Ask()
	p.Keep(901, func(w *Writer) { t.Error("a state without room is encoded") })
	if refused, limit := m.Refused(); refused != 901 || limit != 1000 || len(p.bytes) != 700 {
		t.Errorf("%d bytes of %d were refused, %d are kept", refused, limit, len(p.bytes))
	}
	if m.Bytes() != 800 {
		t.Errorf("the memory has %d bytes", m.Bytes())
	}
}

// A state that is larger than announced, and has no room, is encoded once for each snapshot.
func TestStatesLargerThanAnnounced(t *testing.T) {
	m := NewMemory(1000, nil)
	p := Open(With(t.Context(), m), "search")
	encoded := 0
	for round := 1; round < 4; round++ {
		for range 5 {
			p.Keep(100, func(w *Writer) { encoded++; w.Append(make([]byte, 1001)) })
		}
		if refused, _ := m.Refused(); encoded != round || refused != 1001 || m.Bytes() != 0 {
			t.Errorf("after %d rounds the state was encoded %d times, %d bytes were refused and %d are kept", round,
				encoded, refused, m.Bytes())
		}
		m.Ask()
	}
}
