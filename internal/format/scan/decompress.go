package scan

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// The first bytes of compressed files.
const (
	gzipMagic  = "\x1F\x8B"
	zstdMagic  = "\x28\xB5\x2F\xFD"
	bzip2Magic = "BZh"
	xzMagic    = "\xFD7zXZ\x00"
)

// A file may decompress to at most MaxGrowth times its size, or FreeBytes if that is more.
const (
	MaxGrowth = 1000
	FreeBytes = 32 << 20
)

// MaxWindow is the largest window of a Zstandard file in bytes; zstd needs no more up to level 20.
const MaxWindow = 32 << 20

// compressionSuffixes are ignored when a suffix determines the format.
var compressionSuffixes = []string{".gz", ".zst", ".zstd", ".bz2"}

// SuffixOf returns the suffix that identifies the format of a file, in lower case and without that of a compression.
func SuffixOf(name string) string {
	name = strings.ToLower(name)
	for _, suffix := range compressionSuffixes {
		if without, found := strings.CutSuffix(name, suffix); found {
			name = without
			break
		}
	}
	suffix := filepath.Ext(name)
	if main := sameFormats[suffix]; main != "" {
		return main
	}
	return suffix
}

// decompress removes the compression that the first bytes indicate, if any. packed reports whether there was one.
func (s *Source) decompress(r io.Reader) (plain *bufio.Reader, packed bool, err error) {
	counted := &Counter{From: r}
	input := bufio.NewReaderSize(counted, BufferSize)
	start, err := input.Peek(len(xzMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	var unpacked io.Reader
	switch {
	case strings.HasPrefix(string(start), gzipMagic):
		unpacked, err = gzip.NewReader(input)
	case strings.HasPrefix(string(start), zstdMagic):
		// With a concurrency of 1, the decoder starts no goroutines that would have to be stopped.
		unpacked, err = zstd.NewReader(input, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(MaxWindow))
	case strings.HasPrefix(string(start), bzip2Magic) && len(start) > len(bzip2Magic) &&
		start[len(bzip2Magic)] >= '1' && start[len(bzip2Magic)] <= '9':
		unpacked = bzip2.NewReader(input)
	case strings.HasPrefix(string(start), xzMagic):
		return nil, false, s.Invalid("UNSUPPORTED_COMPRESSION",
			"the file is compressed with xz, which is not supported; decompress it, or use gzip or zstd")
	default:
		return input, false, nil
	}
	if err != nil {
		return nil, true, &damaged{err}
	}
	return bufio.NewReaderSize(&growth{of: s, r: unpacked, packed: counted}, BufferSize), true, nil
}

// Counter counts the bytes read through it, and remembers whether the last Read failed other than by io.EOF. It is not
// safe for concurrent use.
type Counter struct {
	From   io.Reader
	read   int64 // bytes so far
	Failed bool  // the last Read failed, not by the end of the input
}

func (c *Counter) Read(into []byte) (int, error) {
	n, err := c.From.Read(into)
	c.read += int64(n)
	c.Failed = err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// growth fails if the input decompresses to too much, and marks errors of the decompressor as damage.
type growth struct {
	of     *Source   // its limits and its name
	r      io.Reader // the decompressor
	packed *Counter  // counts what the decompressor reads
	read   int64     // bytes that were decompressed
}

// Read fails as soon as the decompressed bytes exceed the limit of the source, or MaxGrowth times those read.
func (g *growth) Read(into []byte) (int, error) {
	n, err := g.r.Read(into)
	g.read += int64(n)
	if err := g.of.CheckSize(g.read); err != nil {
		return n, err
	}
	if g.read > FreeBytes && g.read > MaxGrowth*g.packed.read {
		return n, g.of.Invalid("FILE_GROWS_TOO_MUCH",
			"the file decompresses to more than %d times its size, which looks like a mistake or an attack; if it is "+
				"intended, decompress it first", MaxGrowth)
	}
	if err != nil && !errors.Is(err, io.EOF) && !g.packed.Failed {
		err = &damaged{err}
	}
	return n, err
}

// CheckSize returns an error if the input decompresses to more than MaxBytes.
func (s *Source) CheckSize(bytes int64) error {
	if s.MaxBytes == 0 || bytes <= s.MaxBytes {
		return nil
	}
	return fault.New(fault.ResourceExhausted, "FILE_TOO_LARGE",
		"%s: it decompresses to more than %s, which is the limit", s.Name, text.Bytes(s.MaxBytes))
}

// damaged wraps an error of a decompressor.
type damaged struct{ error }

// Damage marks an error as caused by a damaged file rather than a failed read.
func Damage(err error) error { return &damaged{err} }

func (d *damaged) Unwrap() error { return d.error }
