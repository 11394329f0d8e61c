package format

import "golang.org/x/text/transform"

// returns makes line feeds of carriage returns, for texts whose lines end in these alone, as old programs of Apple's wrote them.
type returns struct{ transform.NopResetter }

// Transform implements transform.Transformer.
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
