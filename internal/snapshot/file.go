package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
)

// A snapshot is
//
//	magic, format, identity      8, 4 and 32 bytes
//	for each piece:              its name, whether it is done, its steps, its bytes
//
// where a number of bytes comes before names and bytes. Whoever stores it adds checksums.
const magic = "CLEAVE\x00S"

// Format is the format of what pieces write: it is changed with any of them, so that a snapshot of another one is ignored.
const Format uint32 = 2

// Identity is what a snapshot is of: the spec of a job, and whatever else its states depend on.
type Identity [sha256.Size]byte

// Write writes a snapshot of the pieces as they are.
func (m *Memory) Write(to io.Writer, of Identity) error {
	head := binary.LittleEndian.AppendUint32([]byte(magic), Format)
	if _, err := to.Write(append(head, of[:]...)); err != nil {
		return err
	}
	for _, p := range m.sorted() {
		w := &Writer{}
		w.String(p.key)
		w.Bool(p.done)
		w.Int(p.saved)
		w.Int(len(p.bytes))
		if _, err := to.Write(w.bytes); err != nil {
			return err
		}
		if _, err := to.Write(p.bytes); err != nil {
			return err
		}
	}
	return nil
}

// Read fills an empty memory with the pieces of a snapshot, which it goes on to share. It is ErrDamaged if the bytes are none
// of this format and identity; then the memory stays empty.
func (m *Memory) Read(snapshot []byte, of Identity) error {
	head := binary.LittleEndian.AppendUint32([]byte(magic), Format)
	rest, is := bytes.CutPrefix(snapshot, append(head, of[:]...))
	if !is {
		return ErrDamaged
	}
	pieces := map[string]*Piece{}
	for r := NewReader(rest); len(r.rest) > 0 || r.failed; {
		p := &Piece{memory: m, key: r.String(), done: r.Bool(), saved: r.Int()}
		p.steps = p.saved
		p.bytes = r.take(r.Int())
		r.Check(p.saved >= 0)
		if r.failed || pieces[p.key] != nil {
			return ErrDamaged
		}
		if p.bytes == nil {
			p.bytes = []byte{}
		}
		pieces[p.key] = p
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pieces = pieces
	return nil
}

// Bytes is how many bytes the pieces have.
func (m *Memory) Bytes() (bytes int) {
	for _, p := range m.sorted() {
		bytes += len(p.bytes)
	}
	return bytes
}

// Pieces is how many pieces there is something of, and how many of them are done.
func (m *Memory) Pieces() (all, done int) {
	for _, p := range m.sorted() {
		if all++; p.done {
			done++
		}
	}
	return all, done
}
