package eigen

import (
	"context"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// iteration is a search that proceeds step by step. It knows nothing of snapshots and observers but what its state is.
type iteration interface {
	// step takes a step. It says whether that was the last.
	step(ctx context.Context) (p Progress, ended bool, err error)
	// advance prepares the next step.
	advance(ctx context.Context) error
	// size returns about how many float64s save writes.
	size() int
	// save writes the state between two steps.
	save(w *snapshot.Writer)
	// load takes a state that save has written. It reports false, and changes nothing, if the state is damaged.
	load(r *snapshot.Reader) bool
}

// recorder drives an iteration. It reports every step, makes the state after it available to the next snapshot, and
// continues from the state of an earlier process: reported steps are reported again, and the source of random numbers
// gets its state back, so that a resumed search gives the same bits and leaves the source where it would have been.
type recorder struct {
	piece    *snapshot.Piece
	source   *rand.PCG
	observe  func(Progress)
	reported []Progress
}

func newRecorder(piece *snapshot.Piece, source *rand.PCG, observe func(Progress)) *recorder {
	return &recorder{piece: piece, source: source, observe: observe}
}

// run takes all steps, or those that an earlier process has not taken. start is called before the first.
func (r *recorder) run(ctx context.Context, it iteration, start func() error) error {
	if !r.restore(it) {
		if err := start(); err != nil {
			return err
		}
	}
	for {
		p, ended, err := it.step(ctx)
		if err != nil {
			return err
		}
		r.report(p)
		if ended {
			return nil
		}
		if err := it.advance(ctx); err != nil {
			return err
		}
		r.offer(it)
	}
}

func (r *recorder) report(p Progress) {
	r.reported = append(r.reported, p)
	r.observe(p)
}

// offer makes the state available to the next snapshot.
func (r *recorder) offer(it iteration) {
	r.piece.Keep(8*it.size(), func(w *snapshot.Writer) {
		r.saveHead(w)
		it.save(w)
	})
}

// restore loads the state from the snapshot of an earlier process. It returns false if there is none.
func (r *recorder) restore(it iteration) bool {
	saved := r.piece.State()
	if saved == nil {
		return false
	}
	reported, source := readHead(saved)
	if saved.Err() != nil || !it.load(saved) {
		return false
	}
	r.resume(reported, source)
	return true
}

// resume restores the log and the source of an earlier process.
func (r *recorder) resume(reported []Progress, source rand.PCG) {
	*r.source = source
	for _, p := range reported {
		r.report(p)
	}
}

// finish saves what the search found.
func (r *recorder) finish(rows int, found Eigenpairs) {
	r.piece.Finish(8*rows*len(found.Vectors), func(w *snapshot.Writer) {
		r.saveHead(w)
		w.Int(found.Rounds)
		w.Int(found.Products)
		w.Bool(found.Converged)
		w.Floats(found.Values)
		w.Floats(found.Residuals)
		w.Columns(found.Vectors)
	})
}

// found returns what an earlier process found. It reports false if there is no result, or one with other numbers of
// vectors and values.
func (r *recorder) found(rows, vectors, values int) (found Eigenpairs, known bool) {
	saved := r.piece.Result()
	if saved == nil {
		return Eigenpairs{}, false
	}
	reported, source := readHead(saved)
	found.Rounds = saved.Int()
	found.Products = saved.Int()
	found.Converged = saved.Bool()
	found.Values = saved.Floats()
	found.Residuals = saved.Floats()
	found.Vectors = saved.Columns(rows)
	saved.Check(len(found.Values) == values && len(found.Residuals) == values && len(found.Vectors) == vectors)
	if saved.End() != nil {
		return Eigenpairs{}, false
	}
	r.resume(reported, source)
	return found, true
}

// saveHead writes what a state and a result begin with: the reported steps and the state of the source.
func (r *recorder) saveHead(w *snapshot.Writer) {
	w.Int(len(r.reported))
	for _, p := range r.reported {
		for _, v := range []int{p.Iteration, p.Rounds, p.Products, p.Converged, p.Wanted} {
			w.Int(v)
		}
		w.Float(p.Residual)
		w.Float(p.Tolerance)
	}
	source, _ := r.source.MarshalBinary() // never fails
	w.Raw(source)
}

func readHead(r *snapshot.Reader) (reported []Progress, source rand.PCG) {
	for range r.Count(5 + 16) {
		reported = append(reported, Progress{
			Iteration: r.Int(), Work: Work{Rounds: r.Int(), Products: r.Int()}, Converged: r.Int(), Wanted: r.Int(),
			Residual: r.Float(), Tolerance: r.Float(),
		})
	}
	r.Check(source.UnmarshalBinary(r.Raw()) == nil)
	return reported, source
}
