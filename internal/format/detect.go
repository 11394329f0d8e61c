package format

import (
	"bytes"
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/format/columnar"
)

// sameFormats are suffixes that stand for the same format as others do.
var sameFormats = map[string]string{
	".feather": ".arrow", ".ipc": ".arrow", ".arrows": ".arrow", ".pq": ".parquet", ".parq": ".parquet",
}

const zipMagic = "PK\x03\x04"

// detect is the suffix of the format that the first bytes tell without a doubt, whatever the file is called; "" where they
// do not.
func (s *source) detect() string {
	start, _ := s.Peek(256) // an error comes again when it is read
	return detectBytes(start)
}

func detectBytes(start []byte) string {
	for _, known := range []struct{ magic, suffix string }{
		{columnar.ParquetMagic, ".parquet"}, {columnar.ArrowMagic, ".arrow"}, {columnar.ArrowContinuation, ".arrow"}, {"FEA1", ".arrow"}, {npyMagic, ".npy"}, {zipMagic, ".npz"},
	} {
		if bytes.HasPrefix(start, []byte(known.magic)) {
			return known.suffix
		}
	}
	text := strings.ToLower(string(bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\xEF\xBB\xBF")))))
	switch {
	case strings.HasPrefix(text, "%%matrixmarket"):
		return ".mtx"
	case strings.HasPrefix(text, "<?xml"), strings.HasPrefix(text, "<graphml"):
		return ".graphml"
	}
	return ""
}

// given is an input about which the user says something.
type given struct {
	io.Reader
	format string // "": the name or the bytes tell
	array  string
}
