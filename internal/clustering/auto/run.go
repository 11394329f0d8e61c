package auto

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/text"
)

// Run runs a problem. It fails if the context ends before there is an answer.
func Run(ctx context.Context, p *Problem, x Executors, o clustering.Observer) (*clustering.Result, error) {
	ss := newSpaces(ctx, p, x, o)
	defer ss.release()
	ss.journal.add(p.Warnings...)
	o.Observe(clustering.PhaseInitialize)
	base, err := findBaseline(ctx, ss)
	if err != nil {
		return nil, err
	}
	f := newFitter(ss, base.labels())
	d, err := decide(ctx, f, base)
	if err != nil {
		return nil, err
	}
	ss.journal.add(d.notices...)
	found, err := fitChosen(ctx, f, &d.choice)
	if err != nil {
		return nil, err
	}
	result := report(p, o, found, d)
	if err := found.rate(ctx, result); err != nil {
		return nil, err
	}
	if p.supervised() {
		if err := respect(ctx, ss.journal, p, base, d, found, result); err != nil {
			return nil, err
		}
	}
	result.Satisfaction = p.given.Satisfaction(result.Labels)
	ss.journal.add(unitsNotices(p, result.Auto.Choice.Chosen.Space)...)
	ss.journal.add(clustering.AnswerNotices(result)...)
	result.Warnings = ss.journal.notices
	return result, nil
}

// decide tries methods as the regime of the problem says, and chooses one by their outcomes.
func decide(ctx context.Context, f *fitter, base *baseline) (decision, error) {
	p := f.p
	switch p.regime {
	case unguided:
		return takeBaseline(base), nil
	case oneKind:
		return takeUsual(p, base), nil
	case few:
		return decideByFew(ctx, f, base)
	}
	right := p.right(base.space.unconstrained)
	if len(p.supervision.Seeds) == 0 && allRight(right) {
		return takeSatisfied(p, base, right), nil
	}
	all, err := tryMethods(ctx, f, base.spaces, right)
	if err != nil {
		return decision{}, err
	}
	return chooseByFolds(p, base, right, all), nil
}

// decideByFew chooses the space first, then the use.
func decideByFew(ctx context.Context, f *fitter, base *baseline) (decision, error) {
	bySpace, err := trySpaces(ctx, f.spaces, base.spaces)
	if err != nil {
		return decision{}, err
	}
	choice, right := chooseSpaceByFew(f.p, base, bySpace)
	f.spaces.journal.add(fewNotice(f.p))
	byUse, err := tryUses(ctx, f, f.spaces.opened[choice.Chosen.Space])
	if err != nil {
		return decision{}, err
	}
	return chooseUseByFew(f.p, choice, right, byUse), nil
}

// fitChosen fits the chosen method to all supervision.
func fitChosen(ctx context.Context, f *fitter, choice *clustering.Choice) (*answer, error) {
	s, err := f.spaces.open(ctx, choice.Chosen.Space)
	if err != nil {
		return nil, err
	}
	answers, err := f.fit(ctx, s, []task{{use: choice.Chosen.ConstraintUse, fold: heldout.None}})
	if err != nil {
		return nil, err
	}
	if note := answers[0].note; note != "" {
		choice.Reason = append(choice.Reason, text.Plain("; %s", note))
	}
	return answers[0], nil
}

// report converts an answer to a result. The history is that of the start that won.
func report(p *Problem, o clustering.Observer, found *answer, d decision) *clustering.Result {
	result := *found.result
	result.Labels = found.labels
	result.Auto.Choice = &d.choice
	o.Observe(clustering.PhaseIterate)
	for _, entry := range result.History {
		o.Observe(clustering.IterationDone{Restart: result.Restart, HistoryEntry: entry})
	}
	if len(p.supervision.Seeds) > 0 {
		renumber(&result, p.numbers(result.Labels))
	}
	result.CountSizes(p.spec.K)
	if tried := d.outcomes.of(d.choice.Chosen, p.folds); tried != nil {
		result.Runs = slices.Concat(result.Runs, tried.runs)
	}
	return &result
}
