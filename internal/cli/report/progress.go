package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/cli/screen"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// plainInterval is the time between two lines of progress in plain output, so that the log of a short run has none.
const plainInterval = 5 * time.Second

// Progress prints the progress of a job: one line that is redrawn on a terminal, plain lines elsewhere. It is a
// client.Watcher, to be used by one goroutine. Call End before anything else writes to the same terminal.
type Progress struct {
	display
	quiet   bool // warnings only
	notices noticeLog

	// What was last heard of the job.
	phase    cleavev1.Phase
	message  string // of that phase
	restarts restartLog
	violated uint32        // constraints, at the last iteration
	timeLeft time.Duration // of an eigensolver; 0 if unknown
}

// noticeLog decides which notices are printed, and how.
type noticeLog struct {
	printed       []string                      // messages of the service so far; none is printed twice
	waiting       []*cleavev1.Notice            // not printed yet, because localize could not
	localize      func(*cleavev1.Notice) string // see Localized; nil leaves the numbers of rows and columns
	skipsSuspects bool                          // the summary lists them
}

// NewProgress shows the progress of a job on w; if it is quiet, the warnings only.
func NewProgress(w io.Writer, quiet bool) *Progress {
	return &Progress{display: display{w: w, width: screen.Terminal(w), now: time.Now, last: time.Now()}, quiet: quiet}
}

// NewFullProgress shows every iteration of a job, however many there are.
func NewFullProgress(w io.Writer) *Progress {
	return &Progress{display: display{w: w, width: screen.Terminal(w), now: time.Now, all: true}}
}

// Localized makes a progress write notices by localize, which knows the names of rows and columns, or returns "" for a
// notice that has to wait until they are known. It leaves out notices about suspects if a summary will list them. It
// returns the progress.
func (p *Progress) Localized(localize func(*cleavev1.Notice) string, summaryListsSuspects bool) *Progress {
	p.notices.localize, p.notices.skipsSuspects = localize, summaryListsSuspects
	return p
}

// Warn writes a line, also when the progress is quiet.
func (p *Progress) Warn(format string, args ...any) { p.line(format, args...) }

// Failed writes the notices that wait for names of rows, with what is known: those names come with a result, and there
// is none. The notices may explain why the job failed.
func (p *Progress) Failed() {
	for _, notice := range p.notices.waiting {
		p.notice(notice, cmp.Or(p.notices.localize(notice), notice.GetMessage()))
	}
	p.notices.waiting = nil
}

// UnprintedNotices returns the notices of a received result that have not been written yet; the caller writes them.
// Notices about its table were written before the run.
func (p *Progress) UnprintedNotices(all []*cleavev1.Notice) []*cleavev1.Notice {
	p.notices.waiting = nil
	answer, _ := wire.SplitNotices(all)
	return slices.DeleteFunc(answer, func(n *cleavev1.Notice) bool {
		return slices.Contains(p.notices.printed, n.GetMessage())
	})
}

// Uploading shows on a terminal that data is being sent to the coordinator.
func (p *Progress) Uploading(rows int, bytes uint64) {
	p.loading("sending %s, %s", text.Plural(rows, "row"), text.Bytes(bytes))
}

// Importing shows on a terminal how far workers are with reading objects.
func (p *Progress) Importing(now *cleavev1.ImportProgress) {
	p.loading("%d of %s read by %s, %s", now.GetObjectsRead(), text.Plural(int(now.GetObjects()), "object"),
		text.Plural(int(now.GetWorkers()), "worker"), text.Plural(int(now.GetRows()), "row"))
}

func (p *Progress) loading(format string, args ...any) {
	if p.width > 0 && !p.quiet {
		p.draw("load  " + fmt.Sprintf(format, args...))
	}
}

// notice writes a localized notice, unless it was written before: each restart may find it.
func (p *Progress) notice(n *cleavev1.Notice, message string) {
	if !slices.Contains(p.notices.printed, n.GetMessage()) {
		p.Warn("warning: %s", message)
		p.notices.printed = append(p.notices.printed, n.GetMessage())
	}
}

// Item shows what the coordinator sent.
func (p *Progress) Item(item *cleavev1.WatchJobResponse) {
	if notice := item.GetEvent().GetNotice(); notice.GetReason() == wire.TableNotice {
		p.Warn("cleave: %s", notice.GetMessage())
	} else if notice != nil && !(p.notices.skipsSuspects && wire.NamesSuspects(notice)) {
		message := notice.GetMessage()
		if p.notices.localize != nil {
			message = p.notices.localize(notice)
		}
		if message == "" {
			p.notices.waiting = append(p.notices.waiting, notice)
		} else {
			p.notice(notice, message)
		}
	}
	if revoked := item.GetEvent().GetRevoked(); revoked != nil {
		p.Warn("warning: the job starts over; discard its events from %d on: %s", revoked.GetFirstSequence(),
			revoked.GetMessage())
		p.restarts, p.violated, p.timeLeft = restartLog{}, 0, 0
	}
	if p.quiet {
		return
	}
	if live := item.GetProgress(); live != nil {
		p.live(live)
		return
	}
	switch what := item.GetEvent().GetWhat().(type) {
	case *cleavev1.Event_Iteration:
		p.iteration(what.Iteration)
	case *cleavev1.Event_Solver:
		parts := solverParts(what.Solver)
		if what.Solver.GetStepsLeft() > 0 && p.timeLeft > 0 {
			parts = append(parts, about(p.timeLeft))
		}
		p.plain("eigenvectors: " + strings.Join(parts, ", "))
	case *cleavev1.Event_K:
		p.restarts = restartLog{}
		p.plain(kText(what.K))
	case *cleavev1.Event_Level:
		p.plain(levelText(what.Level))
	case *cleavev1.Event_MethodTried:
		p.plain(triedLine(what.MethodTried))
	case *cleavev1.Event_Shift:
		p.line("sigma is now %s: %s", text.Brief(what.Shift.GetSigma()), what.Shift.GetWhy())
	case *cleavev1.Event_Restart:
		p.restarts.begin(what.Restart.GetRestart())
		p.plain(p.restarts.String())
	case *cleavev1.Event_Ended:
		p.End()
	}
}

// display writes lines of progress. On a terminal, the last one is redrawn, and cleared before another is written;
// elsewhere, a line is written from time to time. Lines are escaped by text.OneLine, because they contain messages and
// names that others chose.
type display struct {
	w     io.Writer
	width int  // of the terminal; 0 if it is none
	drawn bool // a line that will be redrawn is on the terminal
	all   bool // every plain line is written, at any time

	now      func() time.Time
	last     time.Time // when a plain line was last written; at first when the progress began
	lastLine string
}

// line writes a line that stays. A terminal gets it as several, if it is too long.
func (s *display) line(format string, args ...any) {
	s.End()
	fmt.Fprintln(s.w, screen.Hanging(text.OneLine(fmt.Sprintf(format, args...)), s.width))
}

// End clears the line that would be redrawn.
func (s *display) End() {
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

// plain writes a line of progress unless w is a terminal: at most one in each interval, or every one if all are
// wanted. It does not repeat a line.
func (s *display) plain(line string) {
	if now := s.now(); s.width == 0 && line != s.lastLine && (s.all || now.Sub(s.last) >= plainInterval) {
		s.last, s.lastLine = now, line
		fmt.Fprintln(s.w, text.OneLine(line))
	}
}

// draw replaces the line that is redrawn.
func (s *display) draw(line string) {
	line = text.OneLine(line)
	if runes := []rune(line); len(runes) >= s.width {
		line = string(runes[:s.width-1]) // a full line would wrap and could not be redrawn
	}
	fmt.Fprintf(s.w, "\r\x1b[K%s", line)
	s.drawn = true
}

func (p *Progress) iteration(it *cleavev1.Iteration) {
	p.violated = it.GetParts().GetViolated()
	p.restarts.iteration(it.GetObjective())
	p.plain(p.iterationLine(it))
}

// levelText says which level of a graph is being refined.
func levelText(l *cleavev1.LevelStarted) string {
	return fmt.Sprintf("level %d of %d: %d vertices", l.GetLevels()-l.GetLevel(), l.GetLevels(), l.GetVertices())
}

// solverParts says how far an eigensolver has come.
func solverParts(s *cleavev1.SolverStep) []string {
	glance := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	parts := []string{
		fmt.Sprintf("step %d", s.GetStep()),
		fmt.Sprintf("residual %s of %s", glance(s.GetResidual()), glance(s.GetTolerance())),
		fmt.Sprintf("%d of %d converged", s.GetConverged(), s.GetWanted()),
	}
	if left := s.GetStepsLeft(); left > 0 {
		parts = append(parts, fmt.Sprintf("about %s", text.Plural(int(left), "step")))
	}
	return parts
}

// about writes the time that is left, in whole seconds.
func about(left time.Duration) string {
	return "about " + max(left.Round(time.Second), time.Second).String() + " left"
}

// iterationLine describes an iteration of a log, with all digits of the objective.
func (p *Progress) iterationLine(it *cleavev1.Iteration) string {
	line := fmt.Sprintf("iteration %d: objective %s", it.GetIteration(), Exact(it.GetObjective()))
	if p.restarts.begun {
		line = fmt.Sprintf("restart %d, %s", it.GetRestart()+1, line)
	}
	if it.GetIteration() > 0 {
		line += fmt.Sprintf(", %d moved", it.GetMoved())
	}
	if violated := it.GetParts().GetViolated(); violated > 0 {
		line += fmt.Sprintf(", %d violated", violated)
	}
	return line
}

// live shows what the coordinator said about the job at this moment. A log gets the reason why a job waits when the
// coordinator says it again, after two seconds: most jobs wait for an instant, and that is no news.
func (p *Progress) live(live *cleavev1.Progress) {
	p.restarts.of = live.GetRestarts()
	began := live.GetPhase() != p.phase || live.GetMessage() != p.message
	p.phase = live.GetPhase()
	p.message = live.GetMessage()
	if p.timeLeft = 0; live.GetSolver() != nil {
		p.timeLeft = live.GetTimeLeft().AsDuration()
	}
	switch {
	case p.width > 0:
		p.draw(p.liveLine(live))
	case p.phase == cleavev1.Phase_PHASE_WAITING && p.message != "":
		if line := p.liveLine(live); !began && line != p.lastLine {
			p.lastLine = line
			fmt.Fprintln(p.w, text.OneLine(line))
		}
	case p.phase != cleavev1.Phase_PHASE_ITERATING && (began || !p.all): // iterations have lines of their own
		p.plain(p.liveLine(live))
	}
}

var phases = map[cleavev1.Phase]string{
	cleavev1.Phase_PHASE_WAITING:      "wait",
	cleavev1.Phase_PHASE_LOADING:      "load",
	cleavev1.Phase_PHASE_BUILDING:     "build",
	cleavev1.Phase_PHASE_INITIALIZING: "start",
	cleavev1.Phase_PHASE_ITERATING:    "iterate",
}

// liveLine describes a job at this moment: its phase, then what is known, from the particular to the general.
func (p *Progress) liveLine(live *cleavev1.Progress) string {
	if live.GetPhase() == cleavev1.Phase_PHASE_WAITING && live.GetMessage() != "" {
		return live.GetMessage() // "waiting for a worker: none is connected"
	}
	parts := []string{phases[live.GetPhase()]}
	if k := live.GetK(); k != nil {
		parts = append(parts, kText(k))
	}
	if t := live.GetMethodTried(); t != nil {
		parts = append(parts, triedText(t))
	}
	switch live.GetPhase() {
	case cleavev1.Phase_PHASE_BUILDING:
		if live.GetTiles() == 0 {
			break // the matrix is not divided yet
		}
		parts = append(parts, fmt.Sprintf("%d of %s", live.GetTilesBuilt(), text.Plural(int(live.GetTiles()), "tile")))
	case cleavev1.Phase_PHASE_INITIALIZING:
		if s := live.GetSolver(); s != nil {
			parts = append(parts, solverParts(s)...)
		}
		if l := live.GetLevel(); l != nil {
			parts = append(parts, levelText(l))
		}
	case cleavev1.Phase_PHASE_ITERATING:
		if s := live.GetSolver(); s != nil {
			parts = append(parts, solverParts(s)...)
			break
		}
		if live.GetIteration() == 0 && live.GetObjective() == 0 {
			break // nothing is known yet
		}
		if p.restarts.begun {
			parts = append(parts, p.restarts.String())
		}
		parts = append(parts,
			fmt.Sprintf("iteration %d", live.GetIteration()),
			"objective "+text.Brief(live.GetObjective()),
			fmt.Sprintf("%d moved", live.GetMoved()))
		if p.violated > 0 {
			parts = append(parts, fmt.Sprintf("%d violated", p.violated))
		}
		if rate := live.GetIterationsPerSecond(); rate > 0 {
			parts = append(parts, strconv.FormatFloat(rate, 'g', 3, 64)+" it/s")
		}
	}
	if left := live.GetTimeLeft(); left != nil {
		parts = append(parts, about(left.AsDuration()))
	}
	if live.GetMessage() != "" {
		parts = append(parts, live.GetMessage())
	}
	if workers := live.GetWorkers(); workers > 0 {
		parts = append(parts, text.Plural(int(workers), "worker"))
	}
	return strings.Join(parts, "  ")
}

// restartLog remembers the objectives of the restarts of a job.
type restartLog struct {
	begun    bool    // a restart was announced; a job with a single one announces none
	current  uint32  // from 0 on
	of       uint32  // how many there are; 0 if not known yet
	first    float64 // objective of the current one at its first iteration
	last     float64 // and at its last so far
	any      bool    // the current one has an objective
	rises    bool    // the objective is maximized: it rose within a restart
	best     float64 // of those that have ended
	finished int     // restarts that have ended
}

// begin ends the current restart, if there is one, and begins another.
func (l *restartLog) begin(restart uint32) {
	if l.begun && l.any {
		if l.finished == 0 || l.rises && l.last > l.best || !l.rises && l.last < l.best {
			l.best = l.last
		}
		l.finished++
	}
	l.begun, l.current, l.any = true, restart, false
}

// iteration records the objective of the current restart. Its direction tells whether it is minimized or maximized.
func (l *restartLog) iteration(objective float64) {
	if !l.any {
		l.first, l.any = objective, true
	}
	if l.last = objective; l.finished == 0 {
		l.rises = l.last > l.first
	}
}

// String describes the current restart and the best so far: "restart 7 of 12, best so far 123.4".
func (l restartLog) String() string {
	line := fmt.Sprintf("restart %d", l.current+1)
	if l.of > 0 {
		line += fmt.Sprintf(" of %d", l.of)
	}
	if l.finished > 0 {
		line += ", best so far " + text.Brief(l.best)
	}
	return line
}

// triedText says which method was tried, and on which fold of the constraints.
func triedText(t *cleavev1.MethodTried) string {
	line := "tried " + explain.MethodText(t.GetMethod())
	if t.GetFold() > 0 {
		line += fmt.Sprintf(": fold %d of %d", t.GetFold(), t.GetFolds())
	}
	return line
}

// triedLine also says how many held-out constraints the method predicted.
func triedLine(t *cleavev1.MethodTried) string {
	line := triedText(t)
	for _, kind := range []struct {
		name       string
		all, right uint32
	}{{"must-links", t.GetMustLinks(), t.GetMustLinksRight()}, {"cannot-links", t.GetCannotLinks(),
		t.GetCannotLinksRight()}} {
		if kind.all > 0 {
			line += fmt.Sprintf(", %d of %d %s right", kind.right, kind.all, kind.name)
		}
	}
	return line
}

// kText describes the number of clusters that is being run.
func kText(k *cleavev1.KStarted) string {
	return fmt.Sprintf("k = %d of %d..%d", k.GetK(), k.GetMin(), k.GetMax())
}
