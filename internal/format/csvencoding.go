package format

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

// sniffed is how much of the beginning of a table tells its form: encoding, separator, header and types.
const sniffed = bufferSize

// peek is the beginning of an input that is not taken from it yet.
func (s *source) peek() ([]byte, error) {
	prefix, err := s.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, s.readError(err)
	}
	return prefix, nil
}

// decode makes UTF-8 of a text, whatever it was, and removes the byte order mark. latin says that it is known not to be
// UTF-8. The notice, if any, says what it was taken for.
func (s *source) decode(latin bool) (notice string, err error) {
	prefix, _ := s.Peek(sniffed) // an error comes again when it is read
	var from encoding.Encoding
	switch {
	case bytes.HasPrefix(prefix, []byte("\xEF\xBB\xBF")):
		_, err = s.Discard(3)
	case bytes.HasPrefix(prefix, []byte{0xFF, 0xFE}), bytes.HasPrefix(prefix, []byte{0xFE, 0xFF}):
		from = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.IndexByte(prefix, 0) >= 0:
		if from = utf16Without(prefix); from == nil {
			line := 1 + bytes.Count(prefix[:bytes.IndexByte(prefix, 0)], []byte("\n"))
			return "", s.invalid("NOT_A_TEXT", "line %d has a zero byte, which no text has; is the file damaged, or of another format that --format says?", line)
		}
		notice = s.name + " is read as UTF-16"
	}
	if from == nil && (latin || !validBeginning(prefix)) {
		from = charmap.Windows1252
		notice = s.name + " is not in UTF-8; it is read as Windows-1252 (Latin-1)"
	}
	if from != nil {
		s.Reader = bufio.NewReaderSize(transform.NewReader(s.Reader, from.NewDecoder()), bufferSize)
	}
	if bytes.IndexByte(prefix, '\n') < 0 && bytes.IndexByte(prefix, '\r') >= 0 { // whatever the encoding
		s.Reader = bufio.NewReaderSize(transform.NewReader(s.Reader, returns{}), bufferSize)
	}
	return notice, err
}

// utf16Without is the form of UTF-16 that a text without a byte order mark seems to have: most of its characters are
// Latin, and every second byte is zero.
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

// validBeginning tells whether a text may be UTF-8; its last character may be cut.
func validBeginning(text []byte) bool {
	for cut := range min(utf8.UTFMax, len(text)) {
		if utf8.Valid(text[:len(text)-cut]) {
			return true
		}
	}
	return len(text) == 0
}
