package format

import (
	"bytes"
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// repeatable is the input of a graph that can be read more than once: what comes from standard input is kept in a temporary
// file.
type repeatable struct {
	Input
	kept *scan.Spool
}

// repeatable keeps standard input, and finds out its format.
func (in Input) repeatable() (*repeatable, error) {
	again := &repeatable{Input: in}
	if in.Path != "-" || in.Stdin == nil {
		return again, nil
	}
	again.kept = scan.NewSpool(in.Stdin)
	err := again.read(func(r io.Reader, name string) error {
		s, err := scan.New(r, name)
		if err != nil {
			return err
		}
		if again.Format = strings.TrimPrefix(s.Suffix, "."); s.Suffix == "" {
			head, _ := s.Peek(peeked / 4)
			again.Format = graphText(head)
		}
		return nil
	})
	if err != nil {
		again.close()
		return nil, err
	}
	return again, nil
}

// read is Input.Read, once more.
func (in *repeatable) read(read func(r io.Reader, name string) error) error {
	if in.kept == nil {
		return in.Read(read)
	}
	if err := in.kept.Rewind(); err != nil {
		return err
	}
	return read(&scan.Given{Reader: in.kept, Format: in.Format}, in.Name())
}

func (in *repeatable) close() {
	if in.kept != nil {
		in.kept.Close()
	}
}

// graphText is the format of a graph as a text whose name tells nothing.
func graphText(head []byte) string {
	for line := range bytes.Lines(head) {
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0, text[0] == '#', text[0] == '%':
		case bytes.HasPrefix(text, []byte("graph")), bytes.HasPrefix(text, []byte("Creator")):
			return "gml"
		case bytes.IndexByte(text, ',') >= 0:
			return "csv"
		case bytes.IndexByte(text, '\t') >= 0:
			return "tsv"
		default:
			return "edges"
		}
	}
	return "edges"
}

// CheckGraphFormat refuses a name that is no format of graphs.
func CheckGraphFormat(name string) error { return graphFormats.check(name) }

// CheckKernelFormat refuses a name that is no format of kernel matrices.
func CheckKernelFormat(name string) error { return denseFormats.check(name) }

// check refuses a name that is none of the formats.
func (f formats[R]) check(name string) error {
	if f.has(scan.SuffixOf("." + name)) {
		return nil
	}
	return fault.Invalid("UNKNOWN_FORMAT", "there is no format %q here; use %s", name, strings.ReplaceAll(strings.Join(f.suffixes(), ", "), ".", ""))
}
