package auto

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
)

// Problem is a spec that was checked against its data.
type Problem struct {
	Warnings []clustering.Notice

	spec             clustering.Spec
	options          Options
	data             dataset.Dataset
	n                int
	neighbors, folds int                // neighbors of each row in the nearest-neighbor graph; folds of the constraints
	spaces           []clustering.Space // the representations of the data; see listSpaces
	given            *constraint.Set    // the user's constraints, without those that follow from seeds
	supervision      *heldout.Supervision
	discriminants    bool    // only discriminants are tried
	shared           *Shared // what problems of other k have found; may be nil
}

// Prepare checks a spec against the data.
func Prepare(data dataset.Dataset, spec clustering.Spec) (*Problem, error) {
	if err := clustering.Validate(data.Rows(), spec); err != nil {
		return nil, err
	}
	if g, ok := data.(*dataset.Graph); ok {
		if err := checkWeights(g); err != nil {
			return nil, err
		}
	}
	spec.Supervision.Entail = false // hard constraints include what they imply anyway
	o := spec.Algorithm.(*Options)
	p := &Problem{
		spec: spec, options: *o, data: data, n: data.Rows(),
		neighbors: cmp.Or(o.Neighbors, defaultNeighbors(data)), folds: cmp.Or(o.Folds, DefaultFolds),
	}
	var err error
	if p.given, err = clustering.NewConstraintSet(p.n, spec, constraint.UnitWeight); err != nil {
		return nil, err
	}
	p.supervision = heldout.New(p.given, spec.Supervision.Seeds, spec.K, p.folds, spec.Random(clustering.StreamFolds))
	p.spaces = p.listSpaces()
	p.discriminants = p.onlyDiscriminants()
	if notice, conflicting := clustering.ConflictNotice(p.given); conflicting {
		p.Warnings = append(p.Warnings, notice)
	}
	return p, nil
}

// checkWeights returns an error if the weights of the edges add up to infinity, because cuts would not be numbers.
func checkWeights(g *dataset.Graph) error {
	total := 0.0
	for _, w := range g.Weight {
		total += math.Abs(w)
	}
	if math.IsInf(total, 1) {
		return fault.Invalid("BAD_WEIGHT", "the weights of the edges add up to more than %.3g, the largest number; divide all of them by the same number", math.MaxFloat64)
	}
	return nil
}

// run is the state of a running problem. One goroutine owns it. Fits that run concurrently only read it, except for
// what has a lock of its own.
type run struct {
	*Problem
	executors     Executors
	releases      []func() // release the executors that are in use
	o             clustering.Observer
	threads       int
	reporter      *embedding.Reporter
	noConstraints *constraint.Set

	// What was computed, so that nothing is computed twice.
	openable []clustering.Space // the spaces of the problem, and SpaceMixture if it is tried
	opened   map[clustering.Space]*space
	common   *Shared               // graphs and eigenvectors of all k, or of this run alone
	forests  map[int]*model.Forest // the key is the fold that is held out

	// What is known about methods and supervision.
	baseline   []int32                                     // labels of the answer without supervision; nil until it is chosen
	ofFolds    map[clustering.Method][]clustering.Labeling // the labels found in each fold
	heldOut    map[clustering.Method][]bool                // which held-out pairs they have right
	strayShare float64                                     // estimated share of wrong constraints, or 0 if none seems wrong
	suspects   []clustering.Suspect                        // strengths are not set yet
	notices    []clustering.Notice
}

// Run runs a problem. It fails if the context ends before there is an answer.
func Run(ctx context.Context, p *Problem, x Executors, o clustering.Observer) (*clustering.Result, error) {
	r, err := newRun(ctx, p, x, o)
	if err != nil {
		return nil, err
	}
	defer r.release()
	r.notice(p.Warnings...)
	o.Observe(clustering.PhaseInitialize)
	found, choice, err := r.choose(ctx)
	if err != nil {
		return nil, err
	}
	result := r.report(found, choice)
	result.Runs = append(result.Runs[:len(result.Runs):len(result.Runs)], r.ofFolds[choice.Chosen]...)
	if err := found.rate(ctx, result); err != nil {
		return nil, err
	}
	if r.supervised() {
		if err := r.respect(ctx, found, result); err != nil {
			return nil, err
		}
	}
	r.finish(result)
	return result, nil
}

// respect enforces the supervision in a result and lists what the data contradicts.
func (r *run) respect(ctx context.Context, found *answer, result *clustering.Result) error {
	var margins []float64
	if result.Rows != nil {
		margins = result.Rows.Margin
	}
	result.Auto.Suspects = withStrengths(r.suspects, margins)
	right := r.heldOut[result.Auto.Choice.Chosen]
	if right == nil && result.Auto.Choice.Chosen.ConstraintUse == clustering.UseNone { // it has seen no pair
		right = r.right(found)
	}
	labels, err := r.enforce(ctx, result.Labels, margins, right)
	if err != nil || slices.Equal(labels, result.Labels) {
		return err
	}
	result.Labels = labels
	result.CountSizes(r.spec.K)
	return found.rate(ctx, result)
}

func newRun(ctx context.Context, p *Problem, x Executors, o clustering.Observer) (*run, error) {
	none, err := constraint.NewSet(p.n, nil, constraint.UnitWeight)
	return &run{
		Problem: p, openable: slices.Clone(p.spaces), executors: x, o: o, threads: parallel.Threads(ctx), reporter: embedding.NewReporter(o),
		noConstraints: none, opened: map[clustering.Space]*space{}, common: cmp.Or(p.shared, NewShared(p.spec.K)),
		ofFolds: map[clustering.Method][]clustering.Labeling{}, heldOut: map[clustering.Method][]bool{}, forests: map[int]*model.Forest{},
	}, err
}

// release releases the executors of all spaces.
func (r *run) release() {
	for _, release := range r.releases {
		release()
	}
}

// Supervision returns the constraints and seeds of the problem, divided into folds.
func (p *Problem) Supervision() *heldout.Supervision { return p.supervision }

func (r *run) notice(notices ...clustering.Notice) {
	for _, n := range notices {
		r.notices = append(r.notices, n)
		r.o.Observe(n)
	}
}

func (r *run) warn(code, format string, args ...any) {
	r.notice(clustering.Notice{Code: code, Message: fmt.Sprintf(format, args...)})
}

// report converts an answer to a result. The history is that of the start that won.
func (r *run) report(found *answer, choice *clustering.Choice) *clustering.Result {
	result := *found.result
	result.Labels, result.Auto.Choice = found.labels, choice
	r.o.Observe(clustering.PhaseIterate)
	for _, entry := range result.History {
		r.o.Observe(clustering.IterationDone{Restart: result.Restart, HistoryEntry: entry})
	}
	if len(r.supervision.Seeds) > 0 {
		renumber(&result, r.numbers(result.Labels))
	}
	result.CountSizes(r.spec.K)
	return &result
}

// numbers returns the numbers in the result of the clusters of an answer.
func (r *run) numbers(labels []int32) []int32 {
	if len(r.supervision.Seeds) == 0 {
		return choose.All[int32](r.spec.K)
	}
	return numbersBySeeds(r.spec.K, labels, r.supervision.Seeds)
}

// finish adds the satisfied constraints and the notices.
func (r *run) finish(result *clustering.Result) {
	result.Satisfaction = r.given.Satisfaction(result.Labels)
	r.noticeUnits(result.Auto.Choice.Chosen.Space)
	r.notice(clustering.AnswerNotices(result)...)
	result.Warnings = r.notices
}

// rememberFolds keeps the labels that a method found in each fold. Without constraints they are all the same, a
// discriminant labels only some rows, and a mixture knows the probabilities of its labels.
func (r *run) rememberFolds(m clustering.Method, answers []*answer) {
	if m.ConstraintUse == clustering.UseNone || m.ConstraintUse == clustering.UseDiscriminant || m.Space == clustering.SpaceMixture {
		return
	}
	for _, a := range answers {
		r.ofFolds[m] = append(r.ofFolds[m], clustering.NewLabeling(a.labels, r.spec.K))
	}
}
