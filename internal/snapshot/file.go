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
// where names and bytes are preceded by their length. The caller adds checksums when it stores the snapshot.
const magic = "CLEAVE\x00S"

// Format is the version of the encoding of all pieces. It must change whenever one of them does; snapshots of other
// versions are ignored.
const Format uint32 = 3

// Identity identifies the run that a snapshot belongs to: a hash of the job's spec and of everything else that states
// depend on.
type Identity [sha256.Size]byte

// Write writes a snapshot of the current pieces.
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

// Read fills an empty memory with the pieces of a snapshot, which it keeps a reference to. If the bytes do not have
// this format and identity, it returns ErrDamaged and the memory stays empty.
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

// Bytes returns the size of all pieces.
func (m *Memory) Bytes() (bytes int) {
	for _, p := range m.sorted() {
		bytes += len(p.bytes)
	}
	return bytes
}

// Pieces returns how many pieces have been saved, and how many of them are done.
func (m *Memory) Pieces() (all, done int) {
	for _, p := range m.sorted() {
		all++
		if p.done {
			done++
		}
	}
	return all, done
}
