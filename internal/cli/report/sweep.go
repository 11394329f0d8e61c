package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// The files of a sweep.
const (
	SweepTable   = "results.csv"
	SweepResults = "results.json"
	SweepChart   = "sweep.svg"
)

// Sweep has the results of the jobs of a sweep so far.
type Sweep struct {
	Rows    []SweepRow    // in the order of the combinations of their options, in whatever order the jobs end
	earlier []optionedRow // results of an earlier call, see ReadSweep
}

// SweepRow is the result of one job. Scores are nil if they are not known. The names in JSON are an interface to
// users: add fields, but do not rename any.
type SweepRow struct {
	place         int                  // among all combinations
	Options       jobflags.Combination `json:"-"`
	State         string               `json:"state,omitempty"`
	ObjectiveName string               `json:"objectiveName,omitempty"`
	Objective     *float64             `json:"objective,omitempty"`
	Iterations    uint32               `json:"iterations,omitempty"`
	Seconds       *float64             `json:"seconds,omitempty"`
	HeldOut       *float64             `json:"heldOut,omitempty"` // agreement of the chosen method with held-out supervision
	ARI           *float64             `json:"ari,omitempty"`
	NMI           *float64             `json:"nmi,omitempty"`
	Truth         string               `json:"truth,omitempty"` // hash of what the scores were computed from
	K             uint32               `json:"k,omitempty"`
	JobID         string               `json:"jobId,omitempty"`
	RequestID     string               `json:"requestId"`       // determined by the data, all options and the time limit
	Error         string               `json:"error,omitempty"` // why the job failed
}

// SetResult fills in the state, the counts and the scores of a job from its result and its evaluation, which may be
// nil.
func (r *SweepRow) SetResult(result *cleavev1.Result, evaluation *cleavev1.Evaluation) {
	r.State, r.ObjectiveName, r.Objective = ShortName(result.GetState()), result.GetObjectiveName(), new(result.GetObjective())
	r.Iterations, r.K = result.GetIterations(), result.GetK()
	r.Seconds = new(result.GetTimings().GetTotal().AsDuration().Seconds())
	for _, tried := range result.GetChoice().GetTried() {
		if explain.SameMethod(tried.GetMethod(), result.GetChoice().GetChosen()) {
			r.HeldOut = new(tried.GetAgreement())
		}
	}
	if evaluation != nil {
		r.ARI, r.NMI = new(evaluation.GetAri()), new(evaluation.GetNmi())
	}
}

// Line returns the result as one line of progress.
func (r *SweepRow) Line() string {
	if r.Error != "" {
		return r.Options.Prefix() + r.Error
	}
	line := fmt.Sprintf("%s%s %s", r.Options.Prefix(), r.ObjectiveName, text.Brief(*r.Objective))
	if r.ARI != nil {
		line += fmt.Sprintf(", ARI %.4f", *r.ARI)
	}
	return line + fmt.Sprintf(", %.2f s", *r.Seconds)
}

// Add adds the result of a job, given the place of its combination.
func (s *Sweep) Add(place int, row SweepRow) {
	row.place = place
	at, _ := slices.BinarySearchFunc(s.Rows, place, func(r SweepRow, place int) int { return cmp.Compare(r.place, place) })
	s.Rows = slices.Insert(s.Rows, at, row)
}

// Failed returns the number of jobs that failed.
func (s *Sweep) Failed() (failed int) {
	for _, row := range s.Rows {
		if row.Error != "" {
			failed++
		}
	}
	return failed
}

// optionedRow is a row of results.json.
type optionedRow struct {
	Options map[string]string `json:"options"`
	SweepRow
}

// WriteJSON writes results.json: a list of one object per job. Results of an earlier call that this one has not
// replaced yet come last, so that no result is lost if this call is interrupted, too.
func (s *Sweep) WriteJSON(w io.Writer) error {
	rows, replaced := []optionedRow{}, map[string]bool{}
	for _, r := range s.Rows {
		row := optionedRow{map[string]string{}, r}
		for _, setting := range r.Options {
			row.Options[setting.Option] = setting.Value
		}
		rows, replaced[r.RequestID] = append(rows, row), true
	}
	for _, row := range s.earlier {
		if !replaced[row.RequestID] {
			rows = append(rows, row)
		}
	}
	return PrintJSON(w, rows)
}

// ReadSweep starts a sweep that continues from results.json of an earlier call, if the file exists.
func ReadSweep(path string) (*Sweep, error) {
	s := &Sweep{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s.earlier)
	}
	if err != nil {
		return nil, fault.Invalid("BAD_OUTPUT", "%s: these are not the results of a sweep: %v; choose another folder with --out", path, shell.WithoutPath(err))
	}
	for _, r := range s.earlier {
		if r.Error == "" && (r.Objective == nil || r.Seconds == nil) {
			return nil, fault.Invalid("BAD_OUTPUT", "%s: a result has no objective or time; choose another folder with --out", path)
		}
	}
	return s, nil
}

// Known returns the result of an earlier call for a request id, without its options, unless the job failed or was
// scored against another truth. Without a truth it leaves out the scores. It may be called at the same time as Add.
func (s *Sweep) Known(requestID, truth string) (row SweepRow, known bool) {
	for _, r := range s.earlier {
		if r.RequestID != requestID || r.Error != "" || truth != "" && r.Truth != truth {
			continue
		}
		if row = r.SweepRow; truth == "" {
			row.Truth, row.ARI, row.NMI = "", nil, nil
		}
		return row, true
	}
	return row, false
}

// Complete drops the results of an earlier call that are not among those of this one.
func (s *Sweep) Complete() { s.earlier = nil }

// writeCSV writes results.csv: a row for each job, with a column for each option that varies.
func (s *Sweep) writeCSV(w io.Writer) error {
	table := csv.NewWriter(w)
	var header []string
	if len(s.Rows) > 0 {
		for _, setting := range s.Rows[0].Options {
			header = append(header, setting.Option)
		}
	}
	if err := table.Write(append(header, "state", "clusters", "objective_name", "objective", "iterations", "seconds", "held_out", "ari", "nmi", "job", "error")); err != nil {
		return err
	}
	optional := func(v *float64) string {
		if v == nil {
			return ""
		}
		return Exact(*v)
	}
	for _, r := range s.Rows {
		var cells []string
		for _, setting := range r.Options {
			cells = append(cells, setting.Value)
		}
		cells = append(cells, r.State, strconv.Itoa(int(r.K)), r.ObjectiveName, optional(r.Objective), strconv.Itoa(int(r.Iterations)), optional(r.Seconds),
			optional(r.HeldOut), optional(r.ARI), optional(r.NMI), r.JobID, r.Error)
		if err := table.Write(cells); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}

// Files returns the tables of a sweep, without its chart.
func (s *Sweep) Files() []File {
	return []File{{SweepTable, s.writeCSV}, {SweepResults, s.WriteJSON}}
}

// seedOption is the option whose values are repetitions of the same experiment.
const seedOption = "seed"

// group has the results of jobs that differ only in some options, such as the seed.
type group struct {
	name   string      // the other options and their values
	first  *SweepRow   // of all jobs, also of those that failed
	rows   []*SweepRow // of those that did not fail
	failed int
}

// groups joins the rows that differ only in the given options, in the order of the rows.
func (s *Sweep) groups(except ...string) (all []*group) {
	for at := range s.Rows {
		row := &s.Rows[at]
		name := slices.DeleteFunc(slices.Clone(row.Options), func(o jobflags.Setting) bool { return slices.Contains(except, o.Option) }).String()
		place := slices.IndexFunc(all, func(g *group) bool { return g.name == name })
		if place < 0 {
			place, all = len(all), append(all, &group{name: name, first: row})
		}
		if row.Error != "" {
			all[place].failed++
			continue
		}
		all[place].rows = append(all[place].rows, row)
	}
	return all
}

// values returns a score of each job of the group that has it.
func (g *group) values(score func(*SweepRow) *float64) (values []float64) {
	for _, row := range g.rows {
		if v := score(row); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// mean returns the mean and the standard deviation of values.
func mean(values []float64) (average, deviation float64) {
	for _, v := range values {
		average += v
	}
	average /= max(1, float64(len(values)))
	for _, v := range values {
		deviation += (v - average) * (v - average)
	}
	if len(values) > 1 {
		deviation = math.Sqrt(deviation / float64(len(values)-1))
	}
	return average, deviation
}

// sweepColumn describes a column of the printed table. of returns nil for jobs without a value.
type sweepColumn struct {
	name, format string // the format is for a mean
	of           func(*SweepRow) *float64
}

// sweepColumns are the columns of the printed table. The first three are scores, the most telling first.
var sweepColumns = []sweepColumn{
	{"ARI", "%.3f", func(r *SweepRow) *float64 { return r.ARI }},
	{"held-out", "%.3f", func(r *SweepRow) *float64 { return r.HeldOut }},
	{"objective", "%.6g", func(r *SweepRow) *float64 { return r.Objective }},
	{"iterations", "%.4g", func(r *SweepRow) *float64 { return new(float64(r.Iterations)) }},
	{"seconds", "%.2f", func(r *SweepRow) *float64 { return r.Seconds }},
}

// maxSweepLines is the number of lines of the printed table if a file has all of them.
const maxSweepLines = 30

// Print prints a line for each combination of options other than the seed, with means and standard deviations over the
// seeds. The best come first if scores tell which are. If the results are also saved, it prints only the first
// maxSweepLines.
func (s *Sweep) Print(w io.Writer, saved bool) error {
	groups := s.groups(seedOption)
	for _, score := range sweepColumns[:2] {
		if slices.ContainsFunc(groups, func(g *group) bool { return len(g.values(score.of)) > 0 }) {
			rank := func(g *group) float64 {
				values := g.values(score.of)
				if len(values) == 0 { // all jobs failed
					return math.Inf(-1)
				}
				average, _ := mean(values)
				return average
			}
			slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(rank(b), rank(a)) })
			break
		}
	}
	columns := slices.DeleteFunc(slices.Clone(sweepColumns), func(c sweepColumn) bool {
		return !slices.ContainsFunc(groups, func(g *group) bool { return len(g.values(c.of)) > 0 })
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for at, g := range groups {
		header, cells := g.first.shownOptions()
		if at == 0 {
			header = append(header, "JOBS")
			for _, column := range columns {
				header = append(header, strings.ToUpper(column.name))
			}
			fmt.Fprintln(table, strings.Join(header, "\t"))
		}
		if saved && at == maxSweepLines {
			fmt.Fprintf(table, "and %d more in %s\n", len(groups)-at, SweepTable)
			break
		}
		jobs := strconv.Itoa(len(g.rows))
		if g.failed > 0 {
			jobs += fmt.Sprintf(" (%d failed)", g.failed)
		}
		cells = append(cells, jobs)
		for _, column := range columns {
			cells = append(cells, summary(column.format, g.values(column.of)))
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// shownOptions returns the options of a row, except for the seed.
func (r *SweepRow) shownOptions() (names, values []string) {
	for _, o := range r.Options {
		if o.Option != seedOption {
			names, values = append(names, strings.ToUpper(o.Option)), append(values, o.Value)
		}
	}
	return names, values
}

// summary writes the mean of values, and their standard deviation if there are several.
func summary(format string, values []float64) string {
	average, deviation := mean(values)
	switch {
	case len(values) == 0:
		return "-"
	case deviation <= 1e-9*math.Abs(average): // one value, or the same but for rounding
		return fmt.Sprintf(format, average)
	}
	return fmt.Sprintf(format, average) + " ± " + fmt.Sprintf("%.2g", deviation)
}

// Chart draws the best score that all jobs have: against an option with numbers, with a curve for each combination of
// the others, or as bars. Bands and bars join the seeds.
func (s *Sweep) Chart() (File, error) {
	score := sweepColumns[2]
	for _, candidate := range slices.Backward(sweepColumns[:3]) {
		if !slices.ContainsFunc(s.Rows, func(r SweepRow) bool { return r.Error == "" && candidate.of(&r) == nil }) {
			score = candidate
		}
	}
	if len(s.Rows) == s.Failed() {
		return File{}, errors.New("no job has a result")
	}
	switch x := s.numberOption(); {
	case x != "" && x != seedOption || x != "" && score.name == "objective":
		return File{SweepChart, s.curves(x, score.name, score.of).Figure().Write}, nil
	case score.name != "objective":
		return File{SweepChart, s.bars(score.name, score.of).Figure().Write}, nil
	}
	return File{}, errors.New("objectives of different options cannot be compared; --truth or supervision gives scores that can")
}

// numberOption returns the option for the horizontal axis: the one with the most different numbers, or the seed if
// there is no other, or "" if no option has numbers.
func (s *Sweep) numberOption() (best string) {
	most := 0
	for at, setting := range s.Rows[0].Options {
		values, numbers := map[string]bool{}, true
		for _, row := range s.Rows {
			_, err := strconv.ParseFloat(row.Options[at].Value, 64)
			numbers = numbers && err == nil
			values[row.Options[at].Value] = true
		}
		if numbers && (best == "" || setting.Option != seedOption && len(values) > most) {
			best, most = setting.Option, len(values)
		}
	}
	return best
}

// valueOf returns the number that an option has in a row.
func (r *SweepRow) valueOf(option string) float64 {
	at := slices.IndexFunc(r.Options, func(o jobflags.Setting) bool { return o.Option == option })
	value, _ := strconv.ParseFloat(r.Options[at].Value, 64) // numberOption has checked it
	return value
}

// overSeeds says what is drawn if there are several seeds.
func (s *Sweep) overSeeds(what string) string {
	if slices.ContainsFunc(s.Rows[0].Options, func(o jobflags.Setting) bool { return o.Option == seedOption }) {
		return what + " over the seeds"
	}
	return ""
}

// curves draws the mean and the range of a score at each value of the option x, with a curve for each combination of
// the other options.
func (s *Sweep) curves(x, name string, score func(*SweepRow) *float64) picture.CurvesPlot {
	plot := picture.CurvesPlot{Title: name, Subtitle: s.overSeeds("mean and range"), X: x, Y: name, WholeX: true, Panels: []picture.CurvesPanel{{}}}
	for _, g := range s.groups(x, seedOption) {
		curve := picture.Curve{Name: cmp.Or(g.name, name)}
		slices.SortStableFunc(g.rows, func(a, b *SweepRow) int { return cmp.Compare(a.valueOf(x), b.valueOf(x)) })
		for at := 0; at < len(g.rows); {
			same := &group{}
			for value := g.rows[at].valueOf(x); at < len(g.rows) && g.rows[at].valueOf(x) == value; at++ {
				same.rows = append(same.rows, g.rows[at])
			}
			values := same.values(score)
			average, _ := mean(values)
			curve.X, curve.Mean = append(curve.X, same.rows[0].valueOf(x)), append(curve.Mean, average)
			curve.Low, curve.High = append(curve.Low, slices.Min(values)), append(curve.High, slices.Max(values))
			plot.WholeX = plot.WholeX && same.rows[0].valueOf(x) == math.Trunc(same.rows[0].valueOf(x))
		}
		if len(curve.X) > 0 {
			plot.Panels[0].Curves = append(plot.Panels[0].Curves, curve)
		}
	}
	return plot
}

// bars draws the mean of a score for each combination of options.
func (s *Sweep) bars(name string, score func(*SweepRow) *float64) picture.BarsPlot {
	plot := picture.BarsPlot{Title: name, Subtitle: s.overSeeds("mean"), Axis: name}
	for _, g := range s.groups(seedOption) {
		if values := g.values(score); len(values) > 0 {
			average, _ := mean(values)
			plot.Bars = append(plot.Bars, picture.Bar{Name: cmp.Or(g.name, name), Share: max(0, average)}) // below 0 is no better than chance
		}
	}
	return plot
}
