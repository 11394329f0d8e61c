package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A blob is stored in blocks, each followed by its checksum, in a file or object whose name ends in .sealed:
//
//	block 0 (64 KiB) | CRC-32C | block 1 (64 KiB) | CRC-32C | ... | last block (less than 64 KiB) | CRC-32C
//
// Only the last block is short, possibly empty, so that a blob that is cut between two blocks is noticed. A checksum is that
// of the blob's name, the number of the block, and its bytes: blocks and blobs that were exchanged are noticed too. Blocks
// have fixed places, so that a range is read, and checked, without the rest.
//
// Versions that kept no checksums stored a blob as it is under its name. Those are still read.
const (
	sealSuffix = ".sealed"
	blockBytes = 64 << 10
	frameBytes = blockBytes + crc32.Size // a full block with its checksum
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the checksum of a block of a blob.
func checksum(name string, number int64, block []byte) uint32 {
	head := binary.LittleEndian.AppendUint64([]byte(name), uint64(number))
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, block)
}

// sealer writes a blob in blocks with checksums.
type sealer struct {
	name   string
	w      io.Writer
	frame  []byte // the block so far; has room for its checksum
	number int64
}

func newSealer(name string, w io.Writer) *sealer {
	return &sealer{name: name, w: w, frame: make([]byte, 0, frameBytes)}
}

func (s *sealer) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n := min(len(p), blockBytes-len(s.frame))
		s.frame, p = append(s.frame, p[:n]...), p[n:]
		written += n
		if len(s.frame) == blockBytes {
			if err := s.finish(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// finish writes the block that was begun. The caller calls it once, after everything is written.
func (s *sealer) finish() error {
	sum := checksum(s.name, s.number, s.frame)
	_, err := s.w.Write(binary.LittleEndian.AppendUint32(s.frame, sum))
	s.frame, s.number = s.frame[:0], s.number+1
	return err
}

// sealedRange is where the blocks are stored that hold length bytes from offset on; length -1 means to the end.
func sealedRange(offset, length int64) (from, bytes int64) {
	first := offset / blockBytes
	if length < 0 {
		return first * frameBytes, -1
	}
	last := (offset + max(length, 1) - 1) / blockBytes
	return first * frameBytes, (last - first + 1) * frameBytes
}

// unsealedSize is the size of a blob that takes so many bytes with its checksums.
func unsealedSize(name string, sealed int64) (int64, error) {
	if sealed%frameBytes < crc32.Size {
		return 0, errCut(name)
	}
	return sealed - crc32.Size*(sealed/frameBytes+1), nil
}

// unsealer reads a range of a blob and hands out nothing that it has not checked.
type unsealer struct {
	io.Closer
	name   string
	r      io.Reader // of whole frames
	frame  []byte
	number int64  // of the next block
	block  []byte // what is left of the last one
	skip   int64  // bytes before the range
	left   int64  // bytes of the range; -1 means to the end
	err    error  // after the block

	explain func(name string, err error) error // of the bucket
}

func newUnsealer(name string, r io.ReadCloser, offset, length int64, explain func(string, error) error) *unsealer {
	u := &unsealer{
		Closer: r, explain: explain, name: name, r: wholeReader{r}, frame: make([]byte, frameBytes),
		number: offset / blockBytes, skip: offset % blockBytes, left: length,
	}
	if length == 0 {
		u.err = io.EOF
	}
	return u
}

// wholeReader tells a stream that broke from one that ended: HTTP reports a connection that was cut as the end of the file
// that io.ReadFull also reports, and a whole blob would be taken for a damaged one.
type wholeReader struct{ io.Reader }

var errBroken = errors.New("the connection broke")

func (r wholeReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errBroken
	}
	return n, err
}

func (u *unsealer) Read(p []byte) (int, error) {
	for len(u.block) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.next()
	}
	n := copy(p, u.block)
	u.block = u.block[n:]
	return n, nil
}

// next reads the next block and sets err if none follows it.
func (u *unsealer) next() {
	n, err := io.ReadFull(u.r, u.frame)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		u.err = io.EOF
	case err != nil:
		u.err = u.explain(u.name, err)
		return
	}
	if n < crc32.Size {
		u.err = errCut(u.name)
		return
	}
	block, sum := u.frame[:n-crc32.Size], u.frame[n-crc32.Size:n]
	if binary.LittleEndian.Uint32(sum) != checksum(u.name, u.number, block) {
		u.err = errDamaged(u.name, u.number*blockBytes)
		return
	}
	u.number++
	u.block = block[min(u.skip, int64(len(block))):]
	u.skip = 0
	if u.left >= 0 {
		u.block = u.block[:min(u.left, int64(len(u.block)))]
		if u.left -= int64(len(u.block)); u.left == 0 {
			u.err = io.EOF
		}
	}
}
