package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// story is a run with an event of every kind.
func story() []*cleavev1.WatchJobResponse {
	return []*cleavev1.WatchJobResponse{
		clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_WAITING, Message: "waiting for a worker"}),
		clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_WAITING, Message: "waiting for a worker"}),
		clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_BUILDING, TilesBuilt: 1, Tiles: 4,
			Workers: 1}),
		clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_BUILDING, TilesBuilt: 3, Tiles: 4,
			Workers: 2}),
		clitest.EventItem(
			&cleavev1.Event{
				What: &cleavev1.Event_Notice{Notice: &cleavev1.Notice{Reason: "CONFLICT", Message: "0-1 conflict"}}}),
		clitest.IterationItem(0, 0, 12.5, 0),
		clitest.IterationItem(1, 7, 0.30000000000000004, 0),
		clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_ITERATING, Iteration: 1, Objective: 0.3,
			Moved: 7, Workers: 2,
			IterationsPerSecond: 3.25, TimeLeft: durationpb.New(4 * time.Second)}),
		clitest.EventItem(
			&cleavev1.Event{
				What: &cleavev1.Event_Shift{Shift: &cleavev1.ShiftChange{Iteration: 2, Sigma: 0.5,
					Why: "the objective rose"}}}),
		clitest.EventItem(
			&cleavev1.Event{What: &cleavev1.Event_Restart{Restart: &cleavev1.RestartStarted{Restart: 1}}}),
		clitest.IterationItem(0, 0, 11, 1),
		clitest.EndedItem(),
	}
}

// A job that waits for an instant leaves no line in a log, and one that waits on a single one.
func TestProgressOfAJobThatWaits(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, false)
	waits := clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_WAITING,
		Message: "waiting for its turn"})
	p.Item(waits)
	if out.Len() > 0 {
		t.Errorf("at first it says %q", out.String())
	}
	p.Item(waits)
	p.Item(waits)
	if out.String() != "waiting for its turn\n" {
		t.Errorf("then it says %q", out.String())
	}
}

func TestProgressCountsViolatedConstraints(t *testing.T) {
	step := func(iteration, violated uint32) *cleavev1.WatchJobResponse {
		return clitest.EventItem(&cleavev1.Event{What: &cleavev1.Event_Iteration{Iteration: &cleavev1.Iteration{
			Iteration: iteration, Moved: 2, Objective: 1.5, Parts: &cleavev1.ObjectiveParts{Violated: violated}}}})
	}
	live := clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_ITERATING, Iteration: 1,
		Objective: 1.5, Moved: 2})
	var plain, terminal bytes.Buffer
	lines := &Progress{display: display{w: &plain, now: time.Now, all: true}}
	for _, item := range []*cleavev1.WatchJobResponse{step(1, 3), live, step(2, 0), live} {
		lines.Item(item)
	}
	if want := "iteration 1: objective 1.5, 2 moved, 3 violated\niteration 2: objective 1.5, " +
		"2 moved\n"; plain.String() != want {
		t.Errorf("got %q, want %q", plain.String(), want)
	}
	p := &Progress{display: display{w: &terminal, width: 100, now: time.Now}}
	p.Item(step(1, 3))
	p.Item(live)
	if !strings.Contains(terminal.String(), "2 moved  3 violated") {
		t.Errorf("the terminal shows %q", terminal.String())
	}
	p.Item(step(2, 0))
	p.Item(live)
	if strings.Count(terminal.String(), "violated") != 1 {
		t.Errorf("the terminal shows %q", terminal.String())
	}
}

func TestPlainProgress(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{display: display{w: &out, now: time.Now, all: true}}
	for _, item := range story() {
		p.Item(item)
	}
	want := `waiting for a worker
build  1 of 4 tiles  1 worker
warning: 0-1 conflict
iteration 0: objective 12.5
iteration 1: objective 0.30000000000000004, 7 moved
sigma is now 0.5: the objective rose
restart 2
restart 2, iteration 0: objective 11
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Quiet means no progress; warnings are still shown.
func TestQuietProgressShowsWarningsOnly(t *testing.T) {
	for _, width := range []int{0, 80} {
		var out bytes.Buffer
		p := &Progress{display: display{w: &out, width: width, now: time.Now}, quiet: true}
		p.Uploading(4, 64)
		for _, item := range story() {
			p.Item(item)
		}
		p.Warn("the connection broke")
		p.End()
		if want := "warning: 0-1 conflict\nthe connection broke\n"; out.String() != want {
			t.Errorf("width %d: wrote %q, want %q", width, out.String(), want)
		}
	}
}

// A log has a line of progress every few seconds, so that of a short run has only why it waits, and warnings.
func TestPlainProgressHasALineInEachInterval(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	p := &Progress{display: display{w: &out, now: func() time.Time { return clock }, last: clock}}
	for _, item := range story() {
		p.Item(item)
	}
	if want := "waiting for a worker\nwarning: 0-1 conflict\nsigma is now 0.5: the " +
		"objective rose\n"; out.String() != want {
		t.Errorf("a short run wrote %q, want %q", out.String(), want)
	}
	out.Reset()
	for i := range uint32(1200) {
		clock = clock.Add(10 * time.Millisecond)
		p.Item(clitest.IterationItem(i, 1, float64(i), 0))
	}
	p.Item(clitest.EndedItem())
	if want := "restart 1, iteration 499: objective 499, 1 moved\nrestart 1, iteration 999: objective 999, " +
		"1 moved\n"; out.String() != want {
		t.Errorf("12 s wrote %q, want %q", out.String(), want)
	}
}

func TestWatchShowsEveryIteration(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{display: display{w: &out, all: true, now: func() time.Time { return time.Unix(0, 0) }}}
	for i := range uint32(300) {
		p.Item(clitest.IterationItem(i, 1, 1, 0))
	}
	if got := strings.Count(out.String(), "\n"); got != 300 {
		t.Errorf("%d lines of 300 iterations", got)
	}
}

func TestLiveProgress(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{display: display{w: &out, width: 60, now: time.Now}}
	p.Uploading(4, 64)
	for _, item := range story() {
		p.Item(item)
	}
	p.End()
	text := out.String()
	for _, want := range []string{
		"\r\x1b[Kload  sending 4 rows, 64 B\r\x1b[K",
		"\r\x1b[Kbuild  3 of 4 tiles  2 workers\r\x1b[Kwarning: 0-1 conflict\n",
		"\r\x1b[Kiterate  iteration 1  objective 0.3  7 moved  3.25 it/s  ab", // cut: a full line would wrap
		"\r\x1b[Ksigma is now 0.5",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q has no %q", text, want)
		}
	}
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if shown := strings.TrimPrefix(line, "\x1b[K"); len(shown) >= 60 && !strings.Contains(shown, "sigma") {
			t.Errorf("%q does not fit into 60 columns", shown)
		}
	}
	if !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("the terminal is not left clean: %q", text[max(0, len(text)-40):])
	}
}

// What every restart finds is said once, and what a coordinator says about a table as this program says it.
func TestProgressSaysNoticesOnce(t *testing.T) {
	notice := func(code, message string) *cleavev1.WatchJobResponse {
		return clitest.EventItem(
			&cleavev1.Event{What: &cleavev1.Event_Notice{Notice: &cleavev1.Notice{Reason: code, Message: message}}})
	}
	var said bytes.Buffer
	p := NewProgress(&said, true)
	for range 3 {
		p.Item(notice("FLAT", "the metric is flat"))
	}
	p.Item(notice("TABLE", "column \"a\" names the rows"))
	if want := "warning: the metric is flat\ncleave: column \"a\" names the rows\n"; said.String() != want {
		t.Errorf("got %q, want %q", said.String(), want)
	}
}

// A job that starts over has no restarts, violations or estimates of the run that is void.
func TestProgressForgetsAVoidRun(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{display: display{w: &out, width: 200, now: time.Now}}
	live := clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_ITERATING, Iteration: 1,
		Objective: 1.5, Moved: 2})
	for restart := range uint32(2) {
		p.Item(
			clitest.EventItem(
				&cleavev1.Event{What: &cleavev1.Event_Restart{Restart: &cleavev1.RestartStarted{Restart: restart}}}))
		p.Item(clitest.EventItem(&cleavev1.Event{What: &cleavev1.Event_Iteration{Iteration: &cleavev1.Iteration{
			Restart: restart, Objective: 123, Parts: &cleavev1.ObjectiveParts{Violated: 3}}}}))
	}
	p.Item(live)
	if !strings.Contains(out.String(), "best so far 123") || !strings.Contains(out.String(), "3 violated") {
		t.Errorf("the terminal shows %q", out.String())
	}
	p.Item(
		clitest.EventItem(
			&cleavev1.Event{
				What: &cleavev1.Event_Revoked{Revoked: &cleavev1.EventsRevoked{FirstSequence: 1,
					Message: "the state was lost"}}}))
	out.Reset()
	p.Item(live)
	if want := "\r\x1b[Kiterate  iteration 1  objective 1.5  2 moved"; out.String() != want {
		t.Errorf("the terminal shows %q, want %q", out.String(), want)
	}
}
