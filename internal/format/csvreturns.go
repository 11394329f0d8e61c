package format

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// returns is the encoding of texts whose lines end in a carriage return alone, as old programs of Apple's wrote them.
type returns struct {
	encoding.Encoding
	transform.NopResetter
}

// NewDecoder implements encoding.Encoding.
func (r returns) NewDecoder() *encoding.Decoder { return &encoding.Decoder{Transformer: r} }

// Transform implements transform.Transformer: lines end in a line feed.
func (returns) Transform(dst, src []byte, _ bool) (written, read int, err error) {
	for read < len(src) && written < len(dst) {
		c := src[read]
		if c == '\r' {
			c = '\n'
		}
		dst[written] = c
		written++
		read++
	}
	if read < len(src) {
		err = transform.ErrShortDst
	}
	return written, read, err
}
