package answers

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The statuses of an answer.
const (
	Answered = "ok"
	Late     = "timeout"
	Refused  = "refused" // and why
)

// Answer is one run of a method on a set, and its scores.
type Answer struct {
	Suite            string // that asked
	Set, Group, Kind string
	N, K             int
	Method           string
	M                int // of constraints; in the suite of labels, the percentage of the rows whose label is given
	Noise            float64
	Seed             int
	ARI, NMI         float64 // 0 where it was refused
	Seconds          float64
	Status, Chosen   string
	// Kept are the shares of the given labels, and of pairs of them, that the answer has too; only in the suite of
	// labels.
	Kept, KeptPairs float64
	Found           int // clusters, where a range of their number was given
}

// key tells runs apart.
func (a Answer) key() string {
	return fmt.Sprintf("%s %s %s %d %g %d", a.Suite, a.Set, a.Method, a.M, a.Noise, a.Seed)
}

var header = []string{"set", "group", "kind", "n", "k", "method", "m", "noise", "seed", "ari", "nmi", "seconds",
	"status", "chosen", "suite", "kept", "kept_pairs", "found"}

// oldColumns is how many columns results had while there was one suite only.
const oldColumns = 14

func (a Answer) record() []string {
	number := func(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	ari, nmi := "", ""
	if a.Status == Answered {
		ari = number(a.ARI, 4)
		nmi = number(a.NMI, 4)
	}
	return []string{
		a.Set, a.Group, a.Kind, strconv.Itoa(a.N), strconv.Itoa(a.K), a.Method, strconv.Itoa(a.M), number(a.Noise, -1),
		strconv.Itoa(a.Seed),
		ari, nmi, number(a.Seconds, 2), a.Status, a.Chosen, a.Suite, number(a.Kept, 4), number(a.KeptPairs, 4),
		strconv.Itoa(a.Found),
	}
}

// parse reverses record.
func parse(row []string) (a Answer, err error) {
	integer := func(text string) int {
		v, failure := strconv.Atoi(text)
		err = errors.Join(err, failure)
		return v
	}
	number := func(text string) float64 {
		if text == "" {
			return 0
		}
		v, failure := strconv.ParseFloat(text, 64)
		err = errors.Join(err, failure)
		return v
	}
	a = Answer{
		Set: row[0], Group: row[1], Kind: row[2], N: integer(row[3]), K: integer(row[4]), Method: row[5],
		M: integer(row[6]), Noise: number(row[7]), Seed: integer(row[8]),
		ARI: number(row[9]), NMI: number(row[10]), Seconds: number(row[11]), Status: row[12], Chosen: row[13],
		Suite: Constraints,
	}
	if len(row) > oldColumns {
		a.Suite, a.Kept, a.KeptPairs, a.Found = row[14], number(row[15]), number(row[16]), integer(row[17])
	}
	return a, err
}

// Load reads the results in a file. A file that is not there has none.
func Load(path string) ([]Answer, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.FieldsPerRecord = -1 // new rows may follow old ones
	rows, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var list []Answer
	for at, row := range rows {
		whole := len(row) == oldColumns || len(row) == len(header)
		if whole && slices.Equal(row, header[:len(row)]) {
			continue
		}
		if at == 0 || !whole {
			return nil, fmt.Errorf("%s does not begin with %s", path, strings.Join(header, ","))
		}
		a, err := parse(row)
		if err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", path, at+1, err)
		}
		list = append(list, a)
	}
	return list, nil
}

// log appends results to a file, each as soon as it is there, so that a study can go on where it was stopped.
type log struct {
	file *os.File
	rows *csv.Writer
}

func openLog(path string) (*log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	l := &log{file, csv.NewWriter(file)}
	if end, err := file.Seek(0, io.SeekEnd); err != nil || end > 0 {
		return l, err
	}
	return l, l.write(header)
}

func (l *log) write(row []string) error {
	if err := l.rows.Write(row); err != nil {
		return err
	}
	l.rows.Flush()
	return l.rows.Error()
}

func (l *log) close() error { return l.file.Close() }
