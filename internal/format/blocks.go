package format

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"

	"github.com/cleave-project/cleave/internal/parallel"
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

// eachBlock parses the lines that l has not read yet, many blocks at a time while the next ones are read. parse is called on
// any thread; take gets what it returned, block by block in the order of the text, and ends the reading by an error.
func eachBlock[T any](l *lines, parse func(block) (T, error), take func(b block, parsed T, err error) error) error {
	type result struct {
		parsed T
		err    error
	}
	threads := runtime.GOMAXPROCS(0)
	pool := parallel.NewPool(threads)
	r := &blockReader{source: l.source, nextLine: l.lineNumber + 1}
	now, ahead := r.read(nil, 1), []block(nil)
	for len(now) > 0 {
		results := make([]result, len(now))
		err := pool.Run(context.Background(), threads, 1+len(now), func(piece int) error {
			if piece == 0 {
				ahead = r.read(ahead, blocksPerThread*threads)
			} else {
				at := piece - 1
				results[at].parsed, results[at].err = parse(now[at])
			}
			return nil
		})
		if err != nil {
			return err
		}
		for at, b := range now {
			if err := take(b, results[at].parsed, results[at].err); err != nil {
				return err
			}
		}
		now, ahead = ahead, now
	}
	l.lineNumber = r.nextLine
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
		end := bytes.LastIndexByte(text, '\n') + 1
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
			if bytes.IndexByte(text, '\n') >= 0 {
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
