package jobflags

import (
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

// Truth has the labels that a result is scored against.
type Truth struct {
	Labels  []int64
	Classes []string // the names of the labels; nil if they have none
	ScoreOn []int32  // the points to score; nil means all
}

// LoadTruth reads true labels and the points to score. It returns nil if the path is "".
func LoadTruth(in format.Input, scoreOn string, rows int, naming table.Naming) (*Truth, error) {
	if in.Path == "" {
		return nil, nil
	}
	if naming.Classes == nil {
		naming.Classes = &table.Classes{}
	}
	_, labels, err := format.LoadNamed(in, table.Labels, rows, naming)
	if err != nil {
		return nil, err
	}
	t := &Truth{Labels: labels, Classes: naming.Classes.Names}
	return t, t.loadScoreOn(scoreOn, naming.IDs)
}

// loadScoreOn reads the points to score, unless path is "".
func (t *Truth) loadScoreOn(path string, ids *table.IDs) (err error) {
	if path == "" {
		return nil
	}
	if _, t.ScoreOn, err = format.LoadNamed(format.Input{Path: path}, table.Indices, len(t.Labels), table.Naming{IDs: ids}); err == nil && len(t.ScoreOn) == 0 {
		err = fault.Invalid("NOTHING_TO_SCORE", "%s: the file names no point to score", path)
	}
	return err
}

// LoadTruth returns the true labels of the job's points, from a file or the label column, or nil if there are none. Before
// the rows of a streamed table are sent, it only checks the files and returns nil.
func (j *Job) LoadTruth(path, scoreOn string) (*Truth, error) {
	if j.Stream() != nil && j.Rows == 0 {
		if path == StandardInput {
			return nil, nil // it can be read only once
		}
		_, err := LoadTruth(format.Input{Path: path}, scoreOn, 0, table.Naming{IDs: table.OpenIDs()})
		return nil, err
	}
	t, err := LoadTruth(format.Input{Path: path, Stdin: j.stdin}, scoreOn, j.Filter.FileRows(j.Rows), j.naming())
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

// LoadRunLabels reads the labels that a run wrote, and how a truth about the same points may name them: by ids, if the file has
// ids.
func LoadRunLabels(path string) ([]int64, table.Naming, error) {
	naming := table.Naming{Classes: &table.Classes{}}
	_, labels, err := format.LoadTable(path, table.Labels, 0)
	if !fault.Is(err, "NOT_AN_INTEGER") && !fault.Is(err, "INDEX_OUT_OF_RANGE") {
		return labels, naming, err
	}
	if _, labels, err = format.LoadNamed(format.Input{Path: path}, table.Labels, 0, table.Naming{InOrder: true}); err != nil {
		return nil, naming, err
	}
	t, _, err := (&inputFlags{files: []string{path}}).readTable(format.TableOptions{Header: "yes", Texts: []string{"id", "index"}})
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
