package format

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"

	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// blockSize is how much text is parsed at a time. blocksPerThread is how many blocks each thread parses, on average,
// while the next ones are read.
const (
	blockSize       = 512 << 10
	blocksPerThread = 4
)

// block is some consecutive lines of a text.
type block struct {
	text      []byte // with all line ends
	firstLine int    // the number of its first line
	lines     int
}

// eachBlock parses the lines that l has not read yet. take gets what parse returned, block by block in the order of the
// text, and ends the reading by an error.
func eachBlock[T any](l *lines, parse func(block) (T, error), take func(b block, parsed T, err error) error) error {
	p := newBlockParser(&blockReader{source: l.source, nextLine: l.lineNumber + 1}, parse)
	for {
		blocks, err := p.next()
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if err := take(b.block, b.parsed, b.err); err != nil {
				return err
			}
		}
		if len(blocks) == 0 {
			l.lineNumber = p.nextLine
			return p.end(l)
		}
	}
}

// blockParser parses the blocks of a text, many at a time while the next ones are read. parse is called on any thread.
type blockParser[T any] struct {
	*blockReader
	parse      func(block) (T, error)
	threads    int
	pool       *parallel.Pool
	now, ahead []block // to be parsed; the others are read, or used
	parsed     []parsedBlock[T]
}

type parsedBlock[T any] struct {
	block
	parsed T
	err    error
}

func newBlockParser[T any](r *blockReader, parse func(block) (T, error)) *blockParser[T] {
	threads := runtime.GOMAXPROCS(0)
	p := &blockParser[T]{blockReader: r, parse: parse, threads: threads, pool: parallel.NewPool(threads)}
	p.now = r.read(nil, 1)
	return p
}

// next are the next blocks in the order of the text, none at its end. They are valid until the following call.
func (p *blockParser[T]) next() ([]parsedBlock[T], error) {
	if len(p.now) == 0 {
		return nil, nil
	}
	p.parsed = make([]parsedBlock[T], len(p.now))
	err := p.pool.Run(context.Background(), p.threads, 1+len(p.now), func(piece int) error {
		if piece == 0 {
			p.ahead = p.read(p.ahead, blocksPerThread*p.threads)
		} else {
			b := &p.parsed[piece-1]
			b.block = p.now[piece-1]
			b.parsed, b.err = p.parse(b.block)
		}
		return nil
	})
	p.now, p.ahead = p.ahead, p.now
	return p.parsed, err
}

// end is why the reading ended, nil at the end of the text.
func (r *blockReader) end(l *lines) error {
	switch {
	case errors.Is(r.ended, errLongLine):
		return l.tooLong()
	case errors.Is(r.ended, io.EOF):
		return nil
	}
	return l.readError(r.ended)
}

// blockReader cuts a text into blocks.
type blockReader struct {
	*source
	nextLine int
	rest     []byte // the beginning of a line whose end is not read yet
	ended    error  // why nothing more can be read: io.EOF at the end of the text
	// cut is the end of the last row of a text; nil: that of its last line.
	cut func(text []byte) int
}

func (r *blockReader) lastEnd(text []byte) int {
	if r.cut != nil {
		return r.cut(text)
	}
	return bytes.LastIndexByte(text, '\n') + 1
}

var errLongLine = errors.New("a line is too long")

// read reads up to so many blocks, in the memory of used ones.
func (r *blockReader) read(used []block, most int) []block {
	blocks := used[:0]
	used = used[:cap(used)]
	for len(blocks) < most && r.ended == nil {
		var text []byte
		if len(blocks) < len(used) {
			text = used[len(blocks)].text
		}
		text = r.fill(text[:0])
		end := r.lastEnd(text)
		if errors.Is(r.ended, io.EOF) && end < len(text) { // the last line of a text may have no end
			text = append(text, '\n')
			end = len(text)
		}
		r.rest = append(r.rest[:0], text[end:]...)
		if end > 0 {
			text = text[:end]
			count := bytes.Count(text, []byte("\n"))
			blocks = append(blocks, block{text: text, firstLine: r.nextLine, lines: count})
			r.nextLine += count
		}
	}
	return blocks
}

// fill reads a block: at least one line, unless the text ends before.
func (r *blockReader) fill(text []byte) []byte {
	if cap(text) < r.blockSize {
		text = make([]byte, 0, r.blockSize)
	}
	text = append(text, r.rest...)
	for r.ended == nil {
		if len(text) == cap(text) {
			if r.lastEnd(text) > 0 {
				break
			}
			if len(text) > maxLine {
				r.ended = errLongLine
				break
			}
			text = append(make([]byte, 0, min(2*cap(text), maxLine+1)), text...)
		}
		var n int
		n, r.ended = r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
	}
	return text
}
