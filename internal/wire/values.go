package wire

import (
	"errors"
	"fmt"
	"io"
)

// writeValues writes numbers as they travel and are stored.
func writeValues(w io.Writer, values []float64) error {
	for len(values) > 0 {
		block := values[:min(len(values), ChunkBytes/8)]
		if _, err := w.Write(PackFloat64s(block)); err != nil {
			return err
		}
		values = values[len(block):]
	}
	return nil
}

// sendValues sends a head, and then what writeValues wrote, in parts.
func sendValues[P any](head P, values io.Reader, part func(chunk []byte) P, send func(P) error) error {
	if err := send(head); err != nil {
		return err
	}
	for {
		chunk := make([]byte, ChunkBytes)
		n, err := io.ReadFull(values, chunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if err := send(part(chunk[:n])); err != nil {
			return err
		}
	}
}

// receiveHead receives the first part of a stream, which says what its values are.
func receiveHead[P interface{ GetHead() *H }, H any](receive func() (P, error), what string) (*H, error) {
	part, err := receive()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if part.GetHead() == nil {
		return nil, fmt.Errorf("wire: %s without a head", what)
	}
	return part.GetHead(), nil
}

// receiveValues puts so many numbers together from the chunks of a stream, which ends with io.EOF. Memory
// grows with what has arrived, never with what was promised. Errors of the stream are returned as they are.
func receiveValues[P interface{ GetValues() []byte }](want uint64, receive func() (P, error)) ([]float64, error) {
	var values []float64
	err := Receive(receive, func(part P) error {
		more, err := UnpackFloat64s(part.GetValues())
		if err == nil && (len(more) == 0 || uint64(len(values))+uint64(len(more)) > want) {
			err = fmt.Errorf("wire: %d values after %d of %d", len(more), len(values), want)
		}
		values = append(values, more...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if uint64(len(values)) != want {
		return nil, fmt.Errorf("wire: a stream of %d values ended after %d", want, len(values))
	}
	return values, nil
}
