// Package snapshot saves the progress of a run, so that another process can continue it to the same bits.
//
// A run is made of pieces: a restart, a search for eigenvectors, the cut of a graph. Each piece has a name within the
// piece that contains it, and only one goroutine works on it. While it is in progress it offers its state whenever it
// could be resumed from there (Piece.Keep). When it is done it saves its result (Piece.Finish), and the pieces that it
// contains are dropped. No piece depends on the progress of others, so states from different moments fit together: a
// run can resume from any set of them, and recomputes pieces that are missing.
//
// The memory is passed in the context of the run. Without one nothing is saved. Whoever creates the memory decides when
// snapshots are made and where they are stored.
package snapshot

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/cleave-project/cleave/internal/signal"
)

// Memory holds the pieces of one run. It is safe for concurrent use.
type Memory struct {
	measure func(encode func())
	limit   int // maximum size of all pieces in bytes

	mu        sync.Mutex
	pieces    map[string]*Piece
	opened    map[string]bool
	repeated  []string // names that were opened again
	round     int      // number of the current snapshot; each piece is encoded once per round
	wake      chan struct{}
	reserved  int        // bytes reserved for states that are being encoded
	replacing int        // pieces whose old bytes were dropped while the new ones are being encoded
	replaced  *sync.Cond // signals that replacing fell
	refused   int        // size of the largest state or result that did not fit
}

// NewMemory returns a memory of at most limit bytes; states and results that do not fit are not kept. If measure is not
// nil, it is called to encode states while the run waits, so that it can measure the time that takes.
func NewMemory(limit int, measure func(encode func())) *Memory {
	if measure == nil {
		measure = func(encode func()) { encode() }
	}
	m := &Memory{measure: measure, limit: limit, pieces: map[string]*Piece{}, opened: map[string]bool{}, round: 1,
		wake: make(chan struct{}, 1)}
	m.replaced = sync.NewCond(&m.mu)
	return m
}

// Refused returns the size of the largest state or result that was not kept because it did not fit, and the limit.
func (m *Memory) Refused() (bytes, limit int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused, m.limit
}

// Repeated returns the names of pieces that were opened more than once. There are none unless the program has a defect.
func (m *Memory) Repeated() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.repeated)
}

// Ask makes every piece encode its state the next time it is offered. Until the first call, the first offer of each
// piece is encoded.
func (m *Memory) Ask() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.round++
}

// Changed returns a channel that receives a value after a piece has changed.
func (m *Memory) Changed() <-chan struct{} { return m.wake }

func (m *Memory) change() { signal.Wake(m.wake) }

// Piece saves the state of one part of a run, and finally its result. All methods of a nil piece do nothing.
type Piece struct {
	memory *Memory
	key    string

	// Guarded by memory.mu.
	done  bool
	bytes []byte // the result if done, otherwise the state; nil if there is none yet
	round int    // the round in which its state was encoded
	steps int    // how often its state was offered, including by earlier processes
	saved int    // the same when bytes were encoded, including the steps of contained pieces
}

type contextKey struct{}

// scope is the memory of a context and the prefix of the names of its pieces.
type scope struct {
	memory *Memory
	prefix string
}

// With returns a context whose work is saved in m.
func With(ctx context.Context, m *Memory) context.Context {
	return context.WithValue(ctx, contextKey{}, scope{memory: m})
}

// Without returns a context whose work is not saved.
func Without(ctx context.Context) context.Context {
	if _, remembered := ctx.Value(contextKey{}).(scope); !remembered {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, scope{})
}

// Within returns a context whose pieces are contained in the named one.
func Within(ctx context.Context, name string) context.Context {
	s, _ := ctx.Value(contextKey{}).(scope)
	if s.memory == nil {
		return ctx
	}
	s.prefix += name + "/"
	return context.WithValue(ctx, contextKey{}, s)
}

// Open returns the named piece of a context's work. Every name must be opened only once, because two pieces with the
// same name could not be told apart: opening it again returns nil, so that its work is not saved, and Repeated tells.
func Open(ctx context.Context, name string) *Piece {
	s, _ := ctx.Value(contextKey{}).(scope)
	if s.memory == nil {
		return nil
	}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	key := s.prefix + name
	if s.memory.opened[key] {
		s.memory.repeated = append(s.memory.repeated, key)
		return nil
	}
	s.memory.opened[key] = true
	p := s.memory.pieces[key]
	if p == nil {
		p = &Piece{memory: s.memory, key: key}
		s.memory.pieces[key] = p
	}
	return p
}

// Steps returns how far the saved states have come: the number of steps until they were encoded. It depends only on the
// states.
func (m *Memory) Steps() (steps int) {
	for _, p := range m.sorted() {
		steps += p.saved
	}
	return steps
}

// Result returns the result of a piece that an earlier process finished, or nil.
func (p *Piece) Result() *Reader { return p.read(true) }

// State returns the last state of a piece that an earlier process began, or nil.
func (p *Piece) State() *Reader { return p.read(false) }

// read returns the piece if it is done, or not, as asked. It returns nil for a nil piece.
func (p *Piece) read(done bool) *Reader {
	if p == nil {
		return nil
	}
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if p.done != done || p.bytes == nil {
		return nil
	}
	if !done {
		p.steps = max(0, p.saved-1) // the state that the work resumes from will be offered again
	}
	return NewReader(p.bytes)
}

// Keep offers the state of a piece. The state is encoded immediately if the piece has not been encoded since the last
// Ask, and otherwise ignored. It is of about the given size, for which room is made before it is encoded. If the size
// is 0, which small states may pass, whether it fits is decided after it is encoded.
func (p *Piece) Keep(bytes int, encode func(*Writer)) {
	if p == nil {
		return
	}
	m := p.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	p.steps++
	if p.round < m.round && m.replace(p, bytes, encode) {
		p.done, p.saved = false, p.steps
		m.change()
	}
}

// replace encodes new bytes for a piece and reports whether they fit. If the old bytes do not fit beside the new ones,
// they are dropped first, and snapshots wait until the new ones are complete. The caller holds m.mu, which is released
// while encoding.
func (m *Memory) replace(p *Piece, bytes int, encode func(*Writer)) bool {
	drops := !m.hasRoom(bytes)
	if drops && !m.hasRoom(bytes-len(p.bytes)) {
		m.refused = max(m.refused, bytes)
		return false
	}
	if drops {
		p.bytes = nil
	}
	p.round = m.round // a state that turns out too large is not encoded again at each step
	encoded := m.encodeReserved(bytes, drops, encode)
	if !m.hasRoom(len(encoded) - len(p.bytes)) {
		m.refused = max(m.refused, len(encoded))
		return false
	}
	p.bytes = encoded
	return true
}

// encodeReserved encodes while the given number of bytes is reserved. It releases m.mu meanwhile. If old bytes were
// dropped, snapshots wait.
func (m *Memory) encodeReserved(bytes int, dropped bool, encode func(*Writer)) []byte {
	m.reserved += bytes
	if dropped {
		m.replacing++
	}
	m.mu.Unlock()
	defer func() { // also if encode panics
		m.mu.Lock()
		m.reserved -= bytes
		if dropped {
			m.replacing--
			m.replaced.Broadcast()
		}
	}()
	w := &Writer{bytes: []byte{}}
	m.measure(func() {
		w.Reserve(bytes)
		encode(w)
	})
	return w.bytes
}

// hasRoom reports whether this many more bytes fit. The caller holds m.mu.
func (m *Memory) hasRoom(bytes int) bool {
	bytes += m.reserved
	for _, p := range m.pieces {
		bytes += len(p.bytes)
	}
	return bytes <= m.limit
}

// Finish saves the result of a piece, of about the given size, as Keep does, and drops the pieces that it contains.
func (p *Piece) Finish(bytes int, encode func(*Writer)) {
	if p == nil {
		return
	}
	m := p.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.replace(p, bytes, encode) {
		return
	}
	p.done, p.saved = true, p.steps+1
	for key, part := range m.pieces {
		if strings.HasPrefix(key, p.key+"/") {
			p.saved += max(part.steps, part.saved)
			delete(m.pieces, key)
		}
	}
	m.change()
}

// Once computes a result, unless an earlier process has finished it. Pieces within the computation are saved while it
// is in progress.
func Once[T any](ctx context.Context, name string, encode func(*Writer, T), decode func(*Reader) T,
	compute func(ctx context.Context) (T, error)) (T, error) {
	p := Open(ctx, name)
	if r := p.Result(); r != nil {
		if result := decode(r); r.End() == nil {
			return result, nil
		}
	}
	result, err := compute(Within(ctx, name))
	if err == nil && ctx.Err() == nil {
		p.Finish(0, func(w *Writer) { encode(w, result) })
	}
	return result, err
}

// sorted returns the pieces that have been saved, ordered by name.
func (m *Memory) sorted() []Piece {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.replacing > 0 {
		m.replaced.Wait()
	}
	var pieces []Piece
	for _, p := range m.pieces {
		if p.bytes != nil {
			pieces = append(pieces, *p)
		}
	}
	slices.SortFunc(pieces, func(a, b Piece) int { return strings.Compare(a.key, b.key) })
	return pieces
}
