// Package seal is the format of stored blobs: blocks with checksums. Whoever reads a blob, through the store or by a
// URL of an object store, gets only bytes that were checked.
//
// A blob is stored in blocks, each followed by its checksum, in a file or object whose name ends in .sealed:
//
//	block 0 (64 KiB) | CRC-32C | block 1 (64 KiB) | CRC-32C | ... | last block (less than 64 KiB) | CRC-32C
//
// Only the last block is short, possibly empty, so truncation between two blocks is detected. A checksum covers the
// blob's name, the number of the block, and its bytes, so swapped blocks and blobs are detected too. Blocks have fixed
// positions, so a range can be read and verified without the rest.
package seal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/cleave-project/cleave/internal/fault"
)

const (
	// Suffix ends the names of files and objects in this format.
	Suffix = ".sealed"
	// BlockBytes is the size of a block.
	BlockBytes = 64 << 10
	// FrameBytes is the size of a full block with its checksum.
	FrameBytes = BlockBytes + crc32.Size

	// Damaged is the reason of the errors about blobs that were altered or truncated.
	Damaged = "BLOB_DAMAGED"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the checksum of a block of a blob.
func checksum(name string, number int64, block []byte) uint32 {
	head := binary.LittleEndian.AppendUint64([]byte(name), uint64(number))
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, block)
}

// Writer writes a blob in blocks with checksums. The caller must call Finish after the last Write.
type Writer struct {
	name   string
	w      io.Writer
	frame  []byte // the current block; has room for its checksum
	number int64
}

// NewWriter returns a Writer of a blob to w.
func NewWriter(name string, w io.Writer) *Writer {
	return &Writer{name: name, w: w, frame: make([]byte, 0, FrameBytes)}
}

func (w *Writer) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n := min(len(p), BlockBytes-len(w.frame))
		w.frame = append(w.frame, p[:n]...)
		p = p[n:]
		written += n
		if len(w.frame) == BlockBytes {
			if err := w.Finish(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// Finish writes the current block. The caller calls it once, after everything is written.
func (w *Writer) Finish() error {
	sum := checksum(w.name, w.number, w.frame)
	_, err := w.w.Write(binary.LittleEndian.AppendUint32(w.frame, sum))
	w.frame, w.number = w.frame[:0], w.number+1
	return err
}

// Range returns where the blocks are stored that hold length bytes from offset; length -1 means to the end.
func Range(offset, length int64) (from, bytes int64) {
	first := offset / BlockBytes
	if length < 0 {
		return first * FrameBytes, -1
	}
	last := (offset + max(length, 1) - 1) / BlockBytes
	return first * FrameBytes, (last - first + 1) * FrameBytes
}

// Size returns the size of a blob that takes sealed bytes with its checksums.
func Size(name string, sealed int64) (int64, error) {
	if sealed%FrameBytes < crc32.Size {
		return 0, errCut(name)
	}
	return sealed - crc32.Size*(sealed/FrameBytes+1), nil
}

// Reader reads a range of a blob and returns only bytes that it has verified.
type Reader struct {
	io.Closer
	name   string
	r      io.Reader // returns whole frames
	frame  []byte
	number int64  // number of the next block
	block  []byte // unread rest of the last block
	skip   int64  // bytes to skip before the range
	left   int64  // bytes left in the range; -1 means to the end
	err    error  // returned after block is used up

	explain func(name string, err error) error // that of the bucket
}

// NewReader returns a Reader of length bytes from offset, or to the end if length is -1. r begins where Range says;
// explain turns an error of r into the one to return.
func NewReader(name string, r io.ReadCloser, offset, length int64, explain func(string, error) error) *Reader {
	u := &Reader{
		Closer: r, explain: explain, name: name, r: wholeReader{r}, frame: make([]byte, FrameBytes),
		number: offset / BlockBytes, skip: offset % BlockBytes, left: length,
	}
	if length == 0 {
		u.err = io.EOF
	}
	return u
}

// wholeReader distinguishes a stream that broke from one that ended. HTTP reports a broken connection with the same
// error as io.ReadFull reports the end of the file, and an intact blob would be taken for a damaged one.
type wholeReader struct{ io.Reader }

var errBroken = errors.New("the connection broke")

func (r wholeReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errBroken
	}
	return n, err
}

func (r *Reader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.next()
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// next reads the next block, and sets err if it is the last.
func (r *Reader) next() {
	n, err := io.ReadFull(r.r, r.frame)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		r.err = io.EOF
	case err != nil:
		r.err = r.explain(r.name, err)
		return
	}
	if n < crc32.Size {
		r.err = errCut(r.name)
		return
	}
	block, sum := r.frame[:n-crc32.Size], r.frame[n-crc32.Size:n]
	if binary.LittleEndian.Uint32(sum) != checksum(r.name, r.number, block) {
		r.err = errDamaged(r.name, r.number*BlockBytes)
		return
	}
	r.number++
	r.block = block[min(r.skip, int64(len(block))):]
	r.skip = 0
	if r.left >= 0 {
		r.block = r.block[:min(r.left, int64(len(r.block)))]
		if r.left -= int64(len(r.block)); r.left == 0 {
			r.err = io.EOF
		}
	}
}

func errDamaged(name string, at int64) error {
	return fault.New(fault.DataLoss, Damaged, "the stored blob %s is damaged in the 64 KiB from byte %d on", name,
		at).With("blob", name)
}

func errCut(name string) error {
	return fault.New(fault.DataLoss, Damaged, "the stored blob %s is damaged: its end is missing", name).
		With("blob", name)
}
