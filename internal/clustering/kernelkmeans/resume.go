package kernelkmeans

import (
	"bytes"
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/text"
)

var _ clustering.Resumable = (*method)(nil)

// Save implements clustering.Resumable. It omits the sums of the labels, which are exact and can be recomputed, and the
// generator, which only the start uses.
func (m *method) Save(w *snapshot.Writer) {
	w.Int32s(m.now.labels)
	w.Int(m.iteration)
	w.Float(m.sigma)
	w.OptionalFloat(m.setup.shift)
	w.Int(int(m.finalStop))
	w.Bool(m.phase == afterChain)
	w.Int(len(m.seen))
	for _, hash := range slices.SortedFunc(maps.Keys(m.seen), func(a, b [sha256.Size]byte) int {
		return bytes.Compare(a[:], b[:])
	}) {
		w.Append(hash[:]) // sorted, so that a state has only one encoding
	}
	if w.Bool(m.best != nil); m.best != nil {
		w.Int32s(m.best.labels)
		for _, units := range m.best.selfUnits {
			w.Uint64(units.Lo)
			w.Uint64(uint64(units.Hi))
		}
		w.Int(m.bestAt)
	}
}

func (m *method) Restore(_ context.Context, r *snapshot.Reader) error {
	n, k := m.p.n, m.p.spec.K
	labels := r.Labels(n, k)
	m.iteration = r.Int()
	m.sigma = r.Float()
	shift := r.OptionalFloat()
	m.finalStop = clustering.StopReason(r.Int())
	chained := r.Bool()
	switch {
	case m.finalStop == 0:
		m.phase = moveAll
	case chained:
		m.phase = afterChain
	default:
		m.phase = followChain
	}
	r.Check(m.iteration >= 0 && text.IsKnown(m.finalStop))
	m.seen = map[[sha256.Size]byte]bool{}
	for range r.Count(sha256.Size) {
		var hash [sha256.Size]byte
		r.Fill(hash[:])
		m.seen[hash] = true
	}
	if r.Bool() {
		best := r.Labels(n, k)
		self := make([]kernel.Int128, k)
		for c := range self {
			self[c] = kernel.Int128{Lo: r.Uint64(), Hi: int64(r.Uint64())}
		}
		m.bestAt = r.Int()
		if r.Err() == nil {
			l := m.matrix.newAssignment(best, self)
			m.best = &l
		}
	}
	if err := r.End(); err != nil {
		return err
	}
	if m.setup.shift == nil {
		m.setup.shift = shift
	}
	return m.load(labels)
}
