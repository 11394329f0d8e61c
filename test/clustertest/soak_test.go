package clustertest

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/test/testscale"
)

// TestFaults strikes faults once: one of each kind that no other test has, and in a long run every one.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, f := range faults() {
		if f.soakOnly || f.longOnly && !testscale.Long {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			t.Logf("no event for at most %v", strikeOnce(t, f, 1, credentials.Dial{}))
		})
	}
}

// soak is what make soak asks for.
type soak struct {
	limit  time.Duration  // SOAK: for how long
	runs   int            // RUNS: of each fault
	seed   uint64         // SEED: only this one
	faults *regexp.Regexp // FAULTS: their names
	dial   credentials.Dial
	table  *soakTable
}

// TestSoak strikes all faults again and again, with other seeds each time, until the time is over, each has had its
// runs, or somebody interrupts it. It goes on after failures. After each strike it says how that went on standard error
// and writes a table to SOAK_OUT. With SOAK_TLS there are certificates.
func TestSoak(t *testing.T) {
	s := soak{table: &soakTable{began: time.Now(), tls: os.Getenv("SOAK_TLS") != ""},
		faults: regexp.MustCompile(os.Getenv("FAULTS"))}
	if limit := os.Getenv("SOAK"); limit != "" {
		parsed, err := time.ParseDuration(limit)
		s.limit = must(t, parsed, err)
	}
	for name, into := range map[string]any{"RUNS": &s.runs, "SEED": &s.seed} {
		if given := os.Getenv(name); given != "" {
			if _, err := fmt.Sscan(given, into); err != nil {
				t.Fatalf("%s=%s: %v", name, given, err)
			}
		}
	}
	if s.limit == 0 && s.runs == 0 && s.seed == 0 {
		t.Skip("for make soak")
	}
	if s.table.tls { // programs take flags from the environment too
		folder := NewSecureFolder(t)
		s.dial = folder.Dial("admin")
		t.Setenv("CLEAVE_COORDINATOR_TLS", folder.Path("coordinator"))
		t.Setenv("CLEAVE_WORKER_TLS", folder.Path("worker"))
		t.Setenv("CLEAVE_WORKER_TLS_SERVER_NAME", "localhost")
	}
	s.run(t)
	t.Log("\n" + s.table.String())
}

func (s *soak) run(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	over := func() bool {
		if len(interrupts) > 0 {
			signal.Stop(interrupts) // a second one ends the process
			return true
		}
		return s.limit > 0 && time.Since(s.table.began) > s.limit
	}
	first, last := uint64(1), uint64(s.runs)
	if s.seed > 0 {
		first, last = s.seed, s.seed
	}
	for seed := first; last == 0 || seed <= last; seed++ {
		for _, f := range faults() {
			if over() {
				return
			}
			if s.faults.MatchString(f.name) {
				s.strike(t, f, seed)
			}
		}
	}
}

func (s *soak) strike(t *testing.T, f disturbance, seed uint64) {
	pause := time.Duration(0)
	skipped := false
	ok := t.Run(fmt.Sprintf("%s, seed %d", f.name, seed), func(t *testing.T) {
		t.Cleanup(func() { skipped = t.Skipped() })
		pause = strikeOnce(t, f, seed, s.dial)
	})
	said := pause.Round(10 * time.Millisecond).String()
	switch {
	case skipped:
		said = "skipped"
	case !ok:
		said = "FAILED"
	}
	fmt.Fprintf(os.Stderr, "%v  %d  %s: %s\n", time.Since(s.table.began).Round(time.Second), seed, f.name, said)
	if !skipped {
		s.table.add(f.name, seed, pause, ok)
	}
	if out := os.Getenv("SOAK_OUT"); out != "" {
		if err := os.WriteFile(out, []byte(s.table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// soakTable is what make soak has found so far.
type soakTable struct {
	began time.Time
	tls   bool
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
	runs, failures, with := 0, 0, "without TLS"
	if s.tls {
		with = "with TLS"
	}
	for _, r := range s.rows {
		runs = runs + len(r.pauses) + len(r.failed)
		failures += len(r.failed)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults, %d runs, %d failures, in %v, %s:\n\n", len(s.rows), runs, failures,
		time.Since(s.began).Round(time.Second), with)
	b.WriteString("| fault | runs | failures | no event for, p50 | worst |\n|---|---|---|---|---|\n")
	for _, r := range s.rows {
		slices.SortFunc(r.pauses, cmp.Compare[time.Duration])
		median, worst := "", ""
		if n := len(r.pauses); n > 0 {
			median = r.pauses[n/2].Round(10 * time.Millisecond).String()
			worst = r.pauses[n-1].Round(10 * time.Millisecond).String()
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s |\n", r.name, len(r.pauses)+len(r.failed), len(r.failed),
			median, worst)
	}
	for _, r := range s.rows {
		for _, seed := range r.failed {
			fmt.Fprintf(&b, "\nFailed: %s, seed %d (again: make soak SEED=%d FAULTS='%s')\n", r.name, seed, seed,
				regexp.QuoteMeta(r.name))
		}
	}
	return b.String()
}
