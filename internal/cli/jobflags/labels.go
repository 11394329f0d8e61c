package jobflags

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/wire/supervision"
)

// naming returns how tables about the job's data may name points, and classes of seeds. For a streamed table, whose
// ids only the coordinator knows, any id is accepted. Every call then starts a new list of ids, so use the naming that
// a table was read with to name its points.
func (j *Job) naming() table.Naming {
	ids := j.IDs
	if j.Stream != nil {
		ids = table.OpenIDs()
	}
	return table.Naming{IDs: ids, Classes: &j.classes}
}

// checkLabels refuses flags about classes that contradict each other.
func (f *Flags) checkLabels() error {
	switch {
	case f.Given("label-as") && !f.Given("label-column"):
		return shell.Usage("--label-as requires --label-column")
	case f.labelAs.Text == "seeds" && f.Given("seeds"):
		return shell.Usage("--label-as seeds and --seeds were both given; the seeds of a job are one table")
	case (f.labelAs.Text == "constraints" || f.Given("sample-constraints")) && f.Given("constraints"):
		return shell.Usage("--constraints cannot be combined with constraints from classes; the constraints of a job " +
			"are one table")
	case f.labelAs.Text == "constraints" && f.Given("sample-constraints"):
		return shell.Usage("--label-as constraints makes pairs of all known classes, --sample-constraints samples " +
			"some; give one of them")
	}
	return nil
}

// supervise adds the seeds or constraints that known classes will become to a request. Seeds become constraints for
// algorithms that do not take seeds.
func (f *Flags) supervise(r catalog.Request) {
	if f.Given("label-column") {
		wire.ExpectLabels(r, wire.LabelUse(f.labelAs.Text))
	}
	if f.Given("sample-constraints") {
		r.Values["constraints"] = "given"
	}
	a, known := catalog.FindAlgorithm(r.Algorithm)
	if _, seeds := r.Values["seeds"]; seeds && known && !a.Takes("seeds") && a.Takes("constraints") {
		delete(r.Values, "seeds")
		r.Values["constraints"] = "given"
	}
}

// useLabels uses the classes of the label column, and samples constraints.
func (f *Flags) useLabels(j *Job) error {
	if j.Table != nil && j.Table.classes != nil {
		if err := f.useColumn(j); err != nil {
			return err
		}
	}
	if f.Given("sample-constraints") {
		return f.drawConstraints(j)
	}
	return nil
}

// useColumn turns the label column into the truth if every row has a class, and else into seeds or constraints,
// whichever the algorithm takes, unless --label-as says otherwise.
func (f *Flags) useColumn(j *Job) error {
	labels := j.Table.classes
	if labels.labeled == 0 {
		return fault.Invalid("NO_LABELS", "%s: column %q has no class in any row", f.input.path(), labels.column)
	}
	use := wire.LabelUse(f.labelAs.Text)
	if use == wire.LabelsAuto {
		use = wire.LabelsTruth
		if !f.Given("sample-constraints") {
			use = supervision.UseOfLabels(j.Spec, labels.labeled == len(labels.byRow))
		}
	}
	classes := &j.classes
	if use == wire.LabelsTruth {
		classes = &table.Classes{}
	}
	classes.Add(labels.names)
	j.Table.Notices = append(j.Table.Notices, supervision.LabelNotices(labels.column, labels.labeled, len(labels.byRow),
		classes, use)...)
	j.Table.Notices = append(j.Table.Notices, supervision.SetClusters(j.Spec, labels.column, len(classes.Names))...)
	if j.Spec.GetClusters() == nil {
		return shell.Usage("the number of clusters is missing, and column %q has only one class; give --k N, or a "+
			"range such as --k 2..10", labels.column)
	}
	if use == wire.LabelsTruth {
		j.columnTruth = truthOf(labels, classes)
		return nil
	}
	if err := j.checkClasses(); err != nil {
		return within(f.input.path(), err)
	}
	seeds := seedsOf(labels, classes)
	if use == wire.LabelsConstraints {
		return j.useAsConstraints(seeds, nil, wire.Algorithm(j.Spec).Name)
	}
	return j.useSeeds(seeds, nil)
}

// truthOf returns the truth in a label column. Rows without a class are not scored.
func truthOf(labels *classColumn, classes *table.Classes) *Truth {
	t := &Truth{Labels: make([]int64, len(labels.byRow)), Classes: slices.Clone(classes.Names)}
	complete := labels.labeled == len(labels.byRow)
	numbers := labels.numbers(classes)
	for row, class := range labels.byRow {
		if class == unknownClass {
			t.Labels[row] = int64(len(t.Classes))
			continue
		}
		t.Labels[row] = numbers[class]
		if !complete {
			t.ScoreOn = append(t.ScoreOn, int32(row))
		}
	}
	if !complete {
		t.Classes = append(t.Classes, "")
	}
	return t
}

// seedsOf returns the table of seeds in a label column.
func seedsOf(labels *classColumn, classes *table.Classes) *table.Table {
	index := table.Column{Name: "index", Type: table.Integer}
	label := table.Column{Name: "label", Type: table.Integer}
	numbers := labels.numbers(classes)
	for row, class := range labels.byRow {
		if class != unknownClass {
			index.Integers = append(index.Integers, int64(row))
			label.Integers = append(label.Integers, numbers[class])
		}
	}
	t, _ := table.New([]table.Column{index, label}) // integers are always valid
	return t
}

// useSeeds sets the seeds of the job, as constraints if its algorithm does not take seeds. If ids is open, the table
// of the spec names rows by ids.
func (j *Job) useSeeds(seeds *table.Table, ids *table.IDs) error {
	a := wire.Algorithm(j.Spec)
	if !a.Takes("seeds") && a.Takes("constraints") {
		if j.Spec.GetSupervision().GetConstraints() != nil {
			return shell.Usage("%s uses seeds as constraints, so they cannot be combined with --constraints", a.Name)
		}
		return j.useAsConstraints(seeds, ids, a.Name)
	}
	supervisionOf(j.Spec).Seeds = wire.InlineTable(seeds.Named(ids))
	return j.rememberSeeds(seeds, ids)
}

// rememberSeeds keeps the seeds of a table, to name the clusters after their classes.
func (j *Job) rememberSeeds(seeds *table.Table, ids *table.IDs) (err error) {
	j.seeds, err = table.Seeds.Read(seeds, ids.Points(j.Filter.FileRows(j.Points)))
	return err
}

// useAsConstraints turns seeds into constraints.
func (j *Job) useAsConstraints(seeds *table.Table, ids *table.IDs, algorithm string) error {
	if err := j.rememberSeeds(seeds, ids); err != nil {
		return err
	}
	var rows, labels []int32
	for _, seed := range j.seeds {
		rows = append(rows, seed.Index)
		labels = append(labels, seed.Label)
	}
	pairs, err := constraint.OfClasses(rows, labels, func(int64) error { return nil }) // a coordinator has limits
	if err != nil {
		return err
	}
	j.Notices = append(j.Notices, fmt.Sprintf("%s become %s for %s", text.Plural(len(j.seeds), "label"),
		text.Plural(len(pairs), "constraint"), algorithm))
	supervisionOf(j.Spec).Constraints = wire.InlineTable(table.FromConstraints(pairs).Named(ids))
	return nil
}

// drawConstraints samples pairs of points whose classes are known.
func (f *Flags) drawConstraints(j *Job) error {
	truth := j.columnTruth
	if path := f.truthFile(); path != "" {
		var err error
		if truth, err = ReadTruth(format.Input{Path: path}, "", j.Filter.FileRows(j.Points),
			table.Naming{IDs: j.IDs}); err != nil {
			return err
		}
	}
	if truth == nil {
		return shell.Usage("--sample-constraints samples pairs of known classes; give them with --truth or " +
			"--label-column")
	}
	rows := truth.ScoreOn
	if rows == nil {
		rows = choose.All[int32](len(truth.Labels))
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row int32) bool { return !j.Filter.keeps(int(row)) })
	pairs, err := synth.Constraints(evaluate.Ranks(choose.At(truth.Labels, rows)), f.sampleConstraints.Whole(),
		rand.New(rand.NewPCG(j.Spec.GetSeed(), sampleStream)))
	if err != nil {
		return err
	}
	for at := range pairs {
		pairs[at].I, pairs[at].J = rows[pairs[at].I], rows[pairs[at].J]
	}
	supervisionOf(j.Spec).Constraints = wire.InlineTable(table.FromConstraints(pairs))
	return nil
}

// sampleStream separates the random numbers for constraints from others with the same seed.
const sampleStream = 0x636f6e73747261

// Truth has the labels that a result is scored against.
type Truth struct {
	Labels  []int64
	Classes []string // the names of the labels; nil if they have none
	ScoreOn []int32  // the points to score; nil means all
}

// Scored returns for each point whether it is scored.
func (t *Truth) Scored() []bool {
	scored := slices.Repeat([]bool{t.ScoreOn == nil}, len(t.Labels))
	for _, point := range t.ScoreOn {
		scored[point] = true
	}
	return scored
}

// At returns the truth about some points, numbered by their places in the list. It may score none of them.
func (t *Truth) At(points []int32) *Truth {
	some := &Truth{Labels: choose.At(t.Labels, points), Classes: t.Classes}
	if t.ScoreOn == nil {
		return some
	}
	some.ScoreOn = []int32{}
	for at, scored := range choose.At(t.Scored(), points) {
		if scored {
			some.ScoreOn = append(some.ScoreOn, int32(at))
		}
	}
	return some
}

// ReadTruth reads true labels and the points to score. It returns nil if the path is "".
func ReadTruth(in format.Input, scoreOn string, rows int, naming table.Naming) (*Truth, error) {
	if in.Path == "" {
		return nil, nil
	}
	if naming.Classes == nil {
		naming.Classes = &table.Classes{}
	}
	_, labels, err := format.LoadNamed(in, table.Labels, rows, naming)
	if err != nil {
		return nil, err
	}
	t := &Truth{Labels: labels, Classes: naming.Classes.Names}
	if scoreOn == "" {
		return t, nil
	}
	_, t.ScoreOn, err = format.LoadNamed(format.Input{Path: scoreOn}, table.Indices, len(labels),
		table.Naming{IDs: naming.IDs})
	if err == nil && len(t.ScoreOn) == 0 {
		err = fault.Invalid("NOTHING_TO_SCORE", "%s: the file names no point to score", scoreOn)
	}
	return t, err
}

// LoadTruth returns the true labels of the job's points, from a file or the label column, or nil if there are none.
// scoreOn is "" without a file of truths. If the table is streamed, it only checks the files and returns nil.
func (j *Job) LoadTruth(in format.Input, scoreOn string) (*Truth, error) {
	if j.Stream != nil {
		if in.Path == StandardInput {
			return nil, nil // it can be read only once
		}
		_, err := ReadTruth(in, scoreOn, 0, table.Naming{IDs: table.OpenIDs()})
		return nil, err
	}
	t, err := ReadTruth(in, scoreOn, j.Filter.FileRows(j.Points), table.Naming{IDs: j.IDs})
	if err != nil {
		return nil, err
	}
	return j.Filter.Truth(cmp.Or(t, j.columnTruth))
}

// LoadRunLabels reads the labels that a run wrote, and how a truth about the same points may name them: by ids, if the
// file has ids.
func LoadRunLabels(path string) ([]int64, table.Naming, error) {
	naming := table.Naming{Classes: &table.Classes{}}
	_, labels, err := format.LoadTable(path, table.Labels, 0)
	if !fault.Is(err, "NOT_AN_INTEGER") && !fault.Is(err, "INDEX_OUT_OF_RANGE") {
		return labels, naming, err
	}
	if _, labels, err = format.LoadNamed(format.Input{Path: path}, table.Labels, 0,
		table.Naming{InOrder: true}); err != nil {
		return nil, naming, err
	}
	t, _, err := (&inputFlags{files: []string{path}}).readTable(format.TableOptions{Header: "yes",
		Texts: []string{"id", "index"}})
	if err != nil {
		return nil, naming, err
	}
	for at := range t.Columns {
		if c := &t.Columns[at]; c.Name == "id" || c.Name == "index" {
			naming.IDs = table.NewIDs(c.Texts)
		}
	}
	return labels, naming, nil
}
