package raw

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/cleave-project/cleave/internal/fault"
)

// A file may unfold into more than its bytes, but not without limit: MaxGrowth times its size, and FreeBytes at least.
const (
	MaxGrowth = 1000
	FreeBytes = 32 << 20
)

// MaxBlock is the most that one block of a file may unfold into.
const MaxBlock = 1 << 30

var errSize = errors.New("it does not unfold into what it claims")

// Unpacker undoes the compression of blocks whose size is known before. Several threads may use it at a time.
type Unpacker struct {
	mu   sync.Mutex
	left int64         // that the blocks may still unfold into, beyond MaxGrowth times what they are
	zstd *zstd.Decoder // nil: it was not needed yet
}

// Take allows for a block of so many bytes that unfolds into size, or refuses it.
func (u *Unpacker) Take(block, size int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.left == 0 {
		u.left = FreeBytes
	}
	switch {
	case size < 0 || size > MaxBlock:
		return fault.Invalid("FILE_GROWS_TOO_MUCH", "a block claims %d bytes; at most %d are read at once", size, MaxBlock)
	case size > MaxGrowth*block:
		if u.left -= size; u.left <= 0 {
			return fault.Invalid("FILE_GROWS_TOO_MUCH", "the file unfolds into more than %d times its size, which looks like a mistake or a trap", MaxGrowth)
		}
	}
	return nil
}

// Close frees what the Unpacker holds.
func (u *Unpacker) Close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// Snappy unfolds into size bytes, in the memory of into if that is enough.
func (u *Unpacker) Snappy(into, block []byte, size int) ([]byte, error) {
	if claimed, err := snappy.DecodedLen(block); err != nil || claimed != size {
		return nil, errors.Join(err, errSize)
	}
	return snappy.Decode(sized(into, size), block)
}

// LZ4 unfolds a block without a frame.
func (u *Unpacker) LZ4(into, block []byte, size int) ([]byte, error) {
	into = sized(into, size)
	n, err := lz4.UncompressBlock(block, into)
	if err == nil && n != size {
		err = errSize
	}
	return into, err
}

// LZ4Frame unfolds a frame of blocks.
func (u *Unpacker) LZ4Frame(into, block []byte, size int) ([]byte, error) {
	return readExactly(lz4.NewReader(bytes.NewReader(block)), into, size)
}

// Gzip unfolds what gzip compressed.
func (u *Unpacker) Gzip(into, block []byte, size int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(block))
	if err != nil {
		return nil, err
	}
	return readExactly(r, into, size)
}

// Zstd unfolds what Zstandard compressed.
func (u *Unpacker) Zstd(into, block []byte, size int) (_ []byte, err error) {
	decoder, err := u.decoder()
	if err != nil {
		return nil, err
	}
	into, err = decoder.DecodeAll(block, sized(into, size)[:0])
	if err == nil && len(into) != size {
		err = errSize
	}
	return into, err
}

func (u *Unpacker) decoder() (_ *zstd.Decoder, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.zstd == nil {
		threads := min(runtime.GOMAXPROCS(0), 8)
		u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(threads), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
	}
	return u.zstd, err
}

func sized(into []byte, size int) []byte {
	if cap(into) < size {
		into = make([]byte, size)
	}
	return into[:size:size]
}

// readExactly reads size bytes, after which there must be no more.
func readExactly(r io.Reader, into []byte, size int) ([]byte, error) {
	into = sized(into, size)
	if _, err := io.ReadFull(r, into); err != nil {
		return nil, err
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 || err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, errSize)
	}
	return into, nil
}
