package scan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"

	"github.com/cleave-project/cleave/internal/parallel"
)

// BlockSize is the number of bytes parsed at a time. Each thread parses blocksPerThread blocks on average while the
// next ones are read.
const (
	BlockSize       = 512 << 10
	blocksPerThread = 4
)

// Block holds consecutive lines of a text.
type Block struct {
	Text      []byte // complete lines, including their ends
	FirstLine int    // the number of its first line
	Lines     int
}

// eachBlock parses the lines that l has not read yet. It calls take with the results of parse in the order of the text,
// and stops if take returns an error.
func eachBlock[T any](l *Lines, parse func(Block) (T, error), take func(b Block, parsed T, err error) error) error {
	p := NewBlockParser(&BlockReader{Source: l.Source, NextLine: l.LineNumber + 1}, parse)
	for {
		blocks, err := p.Next()
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if err := take(b.Block, b.Parsed, b.Err); err != nil {
				return err
			}
		}
		if len(blocks) == 0 {
			l.LineNumber = p.NextLine
			return p.End(l)
		}
	}
}

// BlockParser parses several blocks of a text concurrently while it reads the next ones. Parse must be safe for
// concurrent use.
type BlockParser[T any] struct {
	*BlockReader
	Parse      func(Block) (T, error)
	pool       *parallel.Pool
	now, ahead []Block // now is parsed next, while ahead is read
	parsed     []ParsedBlock[T]
}

// ParsedBlock holds a block and the result of parsing it.
type ParsedBlock[T any] struct {
	Block
	Parsed T
	Err    error
}

// NewBlockParser returns a parser of the blocks of r, and reads the first of them.
func NewBlockParser[T any](r *BlockReader, parse func(Block) (T, error)) *BlockParser[T] {
	p := &BlockParser[T]{BlockReader: r, Parse: parse, pool: parallel.NewPool(runtime.GOMAXPROCS(0))}
	p.now = r.readBlocks(nil, 1)
	return p
}

// Next returns the next parsed blocks in the order of the text, none at its end. They are valid until the following
// call.
func (p *BlockParser[T]) Next() ([]ParsedBlock[T], error) {
	if len(p.now) == 0 {
		return nil, nil
	}
	p.parsed = make([]ParsedBlock[T], len(p.now))
	err := p.pool.Run(context.Background(), 1+len(p.now), func(piece int) error {
		if piece == 0 {
			p.ahead = p.readBlocks(p.ahead, blocksPerThread*p.pool.Threads())
		} else {
			b := &p.parsed[piece-1]
			b.Block = p.now[piece-1]
			b.Parsed, b.Err = p.Parse(b.Block)
		}
		return nil
	})
	p.now, p.ahead = p.ahead, p.now
	return p.parsed, err
}

// End returns the error that ended reading, nil at the end of the text.
func (r *BlockReader) End(l *Lines) error {
	switch {
	case errors.Is(r.ended, errLongLine):
		return l.TooLong()
	case errors.Is(r.ended, io.EOF):
		return nil
	}
	return l.ReadError(r.ended)
}

// BlockReader cuts a text into blocks of complete lines.
type BlockReader struct {
	*Source
	NextLine int
	rest     []byte // an incomplete last line, to be continued by the next block
	ended    error  // the error that ended reading, io.EOF at the end of the text
	// Cut returns the end of the last complete row of a text. If nil, every line is a row.
	Cut func(text []byte) int
}

func (r *BlockReader) lastEnd(text []byte) int {
	if r.Cut != nil {
		return r.Cut(text)
	}
	return bytes.LastIndexByte(text, '\n') + 1
}

var errLongLine = errors.New("a line is too long")

// readBlocks reads up to most blocks, reusing the memory of used.
func (r *BlockReader) readBlocks(used []Block, most int) []Block {
	blocks := used[:0]
	used = used[:cap(used)]
	for len(blocks) < most && r.ended == nil {
		var text []byte
		if len(blocks) < len(used) {
			text = used[len(blocks)].Text
		}
		text = r.fill(text[:0])
		end := r.lastEnd(text)
		if errors.Is(r.ended, io.EOF) && end < len(text) { // the last line may lack a line end
			text = append(text, '\n')
			end = len(text)
		}
		r.rest = append(r.rest[:0], text[end:]...)
		if end > 0 {
			text = text[:end]
			count := bytes.Count(text, []byte("\n"))
			blocks = append(blocks, Block{Text: text, FirstLine: r.NextLine, Lines: count})
			r.NextLine += count
		}
	}
	return blocks
}

// fill reads a block of at least one line, unless the text ends first.
func (r *BlockReader) fill(text []byte) []byte {
	if cap(text) < r.BlockSize {
		text = make([]byte, 0, r.BlockSize)
	}
	text = append(text, r.rest...)
	for r.ended == nil {
		if len(text) == cap(text) {
			if r.lastEnd(text) > 0 {
				break
			}
			if len(text) > MaxLine {
				r.ended = errLongLine
				break
			}
			text = append(make([]byte, 0, min(2*cap(text), MaxLine+1)), text...)
		}
		var n int
		n, r.ended = r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
	}
	return text
}
