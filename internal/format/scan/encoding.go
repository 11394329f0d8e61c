package scan

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Sniffed is how many bytes of a table are examined to detect its encoding, separator, header and types.
const Sniffed = BufferSize

// PeekStart returns the first size bytes of an input, or all if it has fewer, without consuming them.
func (s *Source) PeekStart(size int) ([]byte, error) {
	if size > s.Size() {
		s.Reader = bufio.NewReaderSize(s.Reader, size)
	}
	prefix, err := s.Peek(size)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, s.ReadError(err)
	}
	return prefix, nil
}

// Decode converts a text in any supported encoding to UTF-8 and removes the byte order mark. latin says that the text
// is known not to be UTF-8. notice, if not empty, tells the user which encoding was assumed.
func (s *Source) Decode(latin bool) (notice string, err error) {
	prefix, _ := s.Peek(Sniffed) // a read error shows up again when the input is read
	var from encoding.Encoding
	switch {
	case bytes.HasPrefix(prefix, []byte("\xEF\xBB\xBF")):
		_, err = s.Discard(3)
	case bytes.HasPrefix(prefix, []byte{0xFF, 0xFE}), bytes.HasPrefix(prefix, []byte{0xFE, 0xFF}):
		from = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.IndexByte(prefix, 0) >= 0:
		from = utf16Without(prefix)
		if from == nil {
			return "", s.notText(prefix[:bytes.IndexByte(prefix, 0)], "a zero byte")
		}
		notice = s.Name + " is read as UTF-16"
	}
	if from == nil && (latin || !validBeginning(prefix)) {
		if at := controlAt(prefix); at >= 0 {
			return "", s.notText(prefix[:at], "control characters")
		}
		from = charmap.Windows1252
		notice = s.Name + " is not in UTF-8; it is read as Windows-1252 (Latin-1)"
	}
	if from != nil {
		s.Reader = bufio.NewReaderSize(transform.NewReader(s.Reader, from.NewDecoder()), BufferSize)
	}
	if bytes.IndexByte(prefix, '\n') < 0 && bytes.IndexByte(prefix, '\r') >= 0 { // applies to all encodings
		s.Reader = bufio.NewReaderSize(transform.NewReader(s.Reader, returns{}), BufferSize)
	}
	return notice, err
}

// notText returns the fault for a binary file, which shows after the given bytes.
func (s *Source) notText(before []byte, what string) error {
	line := 1 + bytes.Count(before, []byte("\n"))
	return s.Invalid("NOT_A_TEXT", "line %d has %s, so this is not a text file; export its table as CSV, or set "+
		"--format if Cleave reads its format", line, what)
}

// controlAt returns the position where a text has had more different control characters than one that is not binary,
// -1 if it never has. Some programs separate cells and rows by control characters.
func controlAt(prefix []byte) int {
	seen := map[byte]bool{}
	for at, c := range prefix {
		if c < '\t' || c > '\r' && c < ' ' {
			seen[c] = true
			if len(seen) > 3 {
				return at
			}
		}
	}
	return -1
}

// utf16Without guesses the UTF-16 variant of a text without a byte order mark: if most of its characters are Latin,
// every second byte is zero. It returns nil if the text does not look like UTF-16.
func utf16Without(prefix []byte) encoding.Encoding {
	zeros := [2]int{}
	for at, b := range prefix {
		if b == 0 {
			zeros[at%2]++
		}
	}
	switch half := len(prefix) / 2; {
	case zeros[0] == 0 && 2*zeros[1] > half:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case zeros[1] == 0 && 2*zeros[0] > half:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// validBeginning reports whether a text is valid UTF-8 except perhaps for an incomplete last character.
func validBeginning(text []byte) bool {
	for cut := range min(utf8.UTFMax, len(text)) {
		if utf8.Valid(text[:len(text)-cut]) {
			return true
		}
	}
	return len(text) == 0
}

// returns replaces carriage returns by line feeds, for texts with classic Mac OS line ends.
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

// Separator returns the cell separator of a small table, judged by its first line: the comma, unless it has none.
func (s *Source) Separator() byte {
	start, _ := s.Peek(4 << 10)
	line := FirstLine(start)
	for _, separator := range []byte{',', '\t', ';', '|'} {
		if bytes.IndexByte(line, separator) >= 0 {
			return separator
		}
	}
	return ','
}
