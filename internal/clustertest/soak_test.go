package clustertest

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFaults strikes every fault once.
func TestFaults(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			t.Logf("no event for at most %v", strikeOnce(t, f, 1))
		})
	}
}

// TestSoak strikes all faults again and again, with other seeds each time, for make soak: for the time SOAK or until
// each has had RUNS. It writes a table to SOAK_OUT, and goes on after failures, which are listed there with their seeds.
// FAULTS is part of the names of those to strike.
func TestSoak(t *testing.T) {
	var limit time.Duration
	runs := 0
	if text := os.Getenv("SOAK"); text != "" {
		parsed, err := time.ParseDuration(text)
		limit = must(t, parsed, err)
	}
	if text := os.Getenv("RUNS"); text != "" {
		_, err := fmt.Sscan(text, &runs)
		must(t, runs, err)
	}
	if limit == 0 && runs == 0 {
		t.Skip("for make soak")
	}
	began := time.Now()
	table := &soakTable{began: began}
	for round := 1; (runs == 0 || round <= runs) && (limit == 0 || time.Since(began) < limit); round++ {
		for _, f := range faults() {
			if !strings.Contains(f.name, os.Getenv("FAULTS")) || limit > 0 && time.Since(began) > limit {
				continue
			}
			seed := uint64(round)
			pause, skipped := time.Duration(0), false
			ok := t.Run(fmt.Sprintf("%s, seed %d", f.name, seed), func(t *testing.T) {
				t.Cleanup(func() { skipped = t.Skipped() })
				pause = strikeOnce(t, f, seed)
			})
			if !skipped {
				table.add(f.name, seed, pause, ok)
			}
			if out := os.Getenv("SOAK_OUT"); out != "" {
				if err := os.WriteFile(out, []byte(table.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Log("\n" + table.String())
}

// soakTable is what make soak has found so far.
type soakTable struct {
	began time.Time
	rows  []*soakRow
}

type soakRow struct {
	name   string
	pauses []time.Duration // of the runs that were as they should be
	failed []uint64        // seeds
}

func (s *soakTable) add(name string, seed uint64, pause time.Duration, ok bool) {
	at := slices.IndexFunc(s.rows, func(r *soakRow) bool { return r.name == name })
	if at < 0 {
		at = len(s.rows)
		s.rows = append(s.rows, &soakRow{name: name})
	}
	if row := s.rows[at]; ok {
		row.pauses = append(row.pauses, pause)
	} else {
		row.failed = append(row.failed, seed)
	}
}

// String is the table in Markdown.
func (s *soakTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "After %v:\n\n", time.Since(s.began).Round(time.Second))
	b.WriteString("| fault | runs | failures | no event for, p50 | worst |\n|---|---|---|---|---|\n")
	for _, r := range s.rows {
		slices.SortFunc(r.pauses, cmp.Compare[time.Duration])
		median, worst := "", ""
		if n := len(r.pauses); n > 0 {
			median, worst = r.pauses[n/2].Round(10*time.Millisecond).String(), r.pauses[n-1].Round(10*time.Millisecond).String()
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s |\n", r.name, len(r.pauses)+len(r.failed), len(r.failed), median, worst)
	}
	for _, r := range s.rows {
		for _, seed := range r.failed {
			fmt.Fprintf(&b, "\nFailed: %s, seed %d (run it again: FAULTS='%s' RUNS=%d make soak)\n", r.name, seed, r.name, seed)
		}
	}
	return b.String()
}
