// Package snapshot is what a run remembers of its work, so that another process can go on where this one ended, to the
// same bits.
//
// A run is made of pieces: a restart, a search for eigenvectors, the cut of a graph. Each has a name within the piece
// that it is part of, and is worked on by one goroutine. While it is worked on it offers its state at moments at which it
// can be continued from (Piece.Keep), and when it is done its result (Piece.Finish), whose parts are then forgotten. No
// piece depends on how far others are, so that their states may be of different moments: any set of them is one that the
// run can go on from, and a piece that is missing is computed again.
//
// The memory is in the context of a run, as everything that has pieces is given one. Without a memory nothing is kept. When a
// snapshot is made, and where it goes, is decided by who made the memory.
package snapshot

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Memory has the pieces of one run. It can be used by several goroutines.
type Memory struct {
	measure func(encode func())
	limit   int // bytes of all pieces

	mu        sync.Mutex
	pieces    map[string]*Piece
	opened    map[string]bool
	round     int // of snapshots: a piece is encoded once in each
	wake      chan struct{}
	reserved  int        // bytes of what is being encoded
	replacing int        // pieces whose bytes were dropped to make room for those being encoded
	replaced  *sync.Cond // signals that replacing fell
	refused   int        // bytes of the largest state or result that there was no room for
}

// NewMemory makes a memory of at most so many bytes: states and results for which there is no room are not kept. Measure, if not nil, is called to encode states on
// behalf of the run, which waits meanwhile.
func NewMemory(limit int, measure func(encode func())) *Memory {
	if measure == nil {
		measure = func(encode func()) { encode() }
	}
	m := &Memory{measure: measure, limit: limit, pieces: map[string]*Piece{}, opened: map[string]bool{}, round: 1, wake: make(chan struct{}, 1)}
	m.replaced = sync.NewCond(&m.mu)
	return m
}

// Refused returns the size of the largest state or result that was not kept because there was no room for it, and the limit.
func (m *Memory) Refused() (bytes, limit int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused, m.limit
}

// Ask makes pieces encode their states when they are next offered. Before the first call they do too.
func (m *Memory) Ask() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.round++
}

// Changed has a value once a piece has changed since the last one was received.
func (m *Memory) Changed() <-chan struct{} { return m.wake }

func (m *Memory) change() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Piece is a part of a run. A nil one remembers nothing.
type Piece struct {
	memory *Memory
	key    string

	// Guarded by memory.mu.
	done  bool
	bytes []byte // the result if it is done, else its state; nil: there is none yet
	round int    // in which its state was encoded
	steps int    // how often its state was offered, also to earlier processes
	saved int    // and how often before bytes were encoded, with those of parts that are done
}

type contextKey struct{}

// scope is a memory and the piece that the work of a context is part of.
type scope struct {
	memory *Memory
	prefix string
}

// With is a context whose work is remembered.
func With(ctx context.Context, m *Memory) context.Context {
	return context.WithValue(ctx, contextKey{}, scope{memory: m})
}

// Without is a context whose work is not remembered.
func Without(ctx context.Context) context.Context {
	if _, remembered := ctx.Value(contextKey{}).(scope); !remembered {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, scope{})
}

// Within is a context whose pieces are parts of the named one.
func Within(ctx context.Context, name string) context.Context {
	s, _ := ctx.Value(contextKey{}).(scope)
	if s.memory == nil {
		return ctx
	}
	s.prefix += name + "/"
	return context.WithValue(ctx, contextKey{}, s)
}

// Open is the named piece of the work of a context. Each can be opened once: two with one name cannot be told apart, and
// the second is not remembered.
func Open(ctx context.Context, name string) *Piece {
	s, _ := ctx.Value(contextKey{}).(scope)
	if s.memory == nil {
		return nil
	}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	key := s.prefix + name
	if s.memory.opened[key] {
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

// Steps is how far the run has come, as a number that depends on nothing but its states: the steps that were made until they
// were encoded.
func (m *Memory) Steps() (steps int) {
	for _, p := range m.sorted() {
		steps += p.saved
	}
	return steps
}

// Result reads the result of a piece that an earlier process finished, nil if there is none.
func (p *Piece) Result() *Reader { return p.read(true) }

// State reads the state of a piece that an earlier process began, nil if there is none.
func (p *Piece) State() *Reader { return p.read(false) }

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
		p.steps = max(0, p.saved-1) // the state that the work goes on from is offered again
	}
	return NewReader(p.bytes)
}

// Keep offers the state of a piece, of about so many bytes. It is encoded at once if there was no snapshot of the piece
// since one was asked for, and otherwise not at all.
func (p *Piece) Keep(bytes int, encode func(*Writer)) {
	if p == nil {
		return
	}
	m := p.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	p.steps++
	if round := m.round; p.round < round && m.replace(p, bytes, encode) {
		p.done, p.round, p.saved = false, round, p.steps
		m.change()
	}
}

// replace encodes the bytes of a piece, without m.mu, and tells whether there was room for them. Old bytes that have no
// room beside the new ones are dropped first; a snapshot that is made meanwhile waits. m.mu is held.
func (m *Memory) replace(p *Piece, bytes int, encode func(*Writer)) bool {
	drops := !m.hasRoom(bytes)
	if drops && !m.hasRoom(bytes-len(p.bytes)) {
		m.refused = max(m.refused, bytes)
		return false
	}
	if drops {
		p.bytes = nil
	}
	encoded := m.encodeReserved(bytes, drops, encode)
	if !m.hasRoom(len(encoded) - len(p.bytes)) {
		m.refused = max(m.refused, len(encoded))
		return false
	}
	p.bytes = encoded
	return true
}

// encodeReserved encodes without m.mu while room for so many bytes is reserved. If bytes were dropped for it, snapshots wait.
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
	return m.encode(bytes, encode)
}

// hasRoom tells whether so many bytes more can be kept; m.mu is held.
func (m *Memory) hasRoom(bytes int) bool {
	bytes += m.reserved
	for _, p := range m.pieces {
		bytes += len(p.bytes)
	}
	return bytes <= m.limit
}

// encode encodes a state while the run waits.
func (m *Memory) encode(bytes int, encode func(*Writer)) []byte {
	w := &Writer{bytes: []byte{}}
	m.measure(func() {
		w.Reserve(bytes)
		encode(w)
	})
	return w.bytes
}

// Finish keeps the result of a piece, of about so many bytes, and forgets its parts.
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

// Once is the result of a computation that is made once: an earlier process may have finished it. Parts of it are
// remembered while it goes on.
func Once[T any](ctx context.Context, name string, encode func(*Writer, T), decode func(*Reader) T, compute func(ctx context.Context) (T, error)) (T, error) {
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

// sorted are the pieces that there is something of, in the order of their names.
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
