package jobflags

import (
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

// Truth is what the labels are scored against.
type Truth struct {
	Labels  []int64
	Classes []string // the names of the labels, which are numbers of classes then; nil: they have none
	ScoreOn []int32  // nil: all points
}

// LoadTruth reads the truth, nil when there is none to read.
func LoadTruth(path, scoreOn string, rows int, naming table.Naming) (*Truth, error) {
	return loadTruth(format.Input{Path: path}, scoreOn, rows, naming)
}

func loadTruth(in format.Input, scoreOn string, rows int, naming table.Naming) (*Truth, error) {
	if in.Path == "" {
		return nil, nil
	}
	if naming.Classes == nil {
		naming.Classes = &table.Classes{}
	}
	_, labels, err := format.LoadNamedFrom(in, table.Labels, rows, naming)
	if err != nil {
		return nil, err
	}
	t := &Truth{Labels: labels, Classes: naming.Classes.Names}
	return t, t.loadScoreOn(scoreOn, naming.IDs)
}

// loadScoreOn reads which points are scored, if a file says so.
func (t *Truth) loadScoreOn(path string, ids *table.IDs) (err error) {
	if path == "" {
		return nil
	}
	if _, t.ScoreOn, err = format.LoadNamed(path, table.Indices, len(t.Labels), table.Naming{IDs: ids}); err == nil && len(t.ScoreOn) == 0 {
		err = fault.Invalid("NOTHING_TO_SCORE", "%s: the file names no point to score", path)
	}
	return err
}

// LoadTruth is the truth about the rows of the job's data, in a file or in the column of classes; nil when there is
// none.
func (j *Job) LoadTruth(path, scoreOn string) (*Truth, error) {
	if j.Stream() != nil && j.Rows == 0 { // what is wrong whatever the rows are is said before they are sent
		if path == StandardInput {
			return nil, nil // which is read once
		}
		_, err := LoadTruth(path, scoreOn, 0, table.Naming{IDs: table.OpenIDs()})
		return nil, err
	}
	t, err := loadTruth(format.Input{Path: path, Stdin: j.stdin}, scoreOn, j.Filter.FileRows(j.Rows), j.naming())
	if err == nil && t == nil && j.known != nil {
		t = j.known
		if scoreOn != "" {
			err = t.loadScoreOn(scoreOn, j.naming().IDs)
		}
	}
	if err != nil {
		return nil, err
	}
	return j.Filter.Truth(t)
}

// LoadAnswer reads the labels that a run wrote, and how a truth about the same points may call them: by their ids, if
// that is what the file does.
func LoadAnswer(path string) ([]int64, table.Naming, error) {
	naming := table.Naming{Classes: &table.Classes{}}
	_, labels, err := format.LoadTable(path, table.Labels, 0)
	if !fault.Is(err, "NOT_AN_INTEGER") && !fault.Is(err, "INDEX_OUT_OF_RANGE") {
		return labels, naming, err
	}
	if _, labels, err = format.LoadNamed(path, table.Labels, 0, table.Naming{InOrder: true}); err != nil {
		return nil, naming, err
	}
	r, err := format.OpenTable([]string{path}, format.TableOptions{Header: "yes", Texts: []string{"id", "index"}})
	if err != nil {
		return nil, naming, err
	}
	defer r.Close()
	t, err := r.ReadAll()
	if err != nil {
		return nil, naming, err
	}
	for at := range t.Columns {
		if c := &t.Columns[at]; c.Name == "id" || c.Name == "index" {
			naming.IDs = table.NewIDs(c.Texts)
		}
	}
	return labels, naming, nil
}
