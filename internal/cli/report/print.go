package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

// PrintJSON writes a document with indentation.
func PrintJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// PrintMessage writes a message of the API as JSON. protojson varies its white space on purpose; encoding/json
// makes it stable.
func PrintMessage(w io.Writer, message proto.Message) error {
	text, err := protojson.Marshal(message)
	if err != nil {
		return err
	}
	return PrintJSON(w, json.RawMessage(text))
}

// ShortName returns the value of an enum without its prefix: RUNNING for JOB_STATE_RUNNING.
func ShortName(value fmt.Stringer) string {
	name := value.String()
	for _, prefix := range []string{"JOB_STATE_", "STOP_REASON_", "WORKER_STATE_", "DATASET_KIND_", "PRIORITY_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// FormatTime writes a time in the local time zone; it returns "" for nil.
func FormatTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// Exact writes a number so that it reads back the same.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Brief writes a number with at most six digits.
func Brief(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// EventLines writes the numbered events of a job as lines of JSON. Live progress is not among them.
type EventLines struct{ Events, Warnings io.Writer }

// Item writes an event.
func (l *EventLines) Item(item *cleavev1.WatchJobResponse) {
	if item.GetEvent() == nil {
		return
	}
	if text, err := protojson.Marshal(item.GetEvent()); err == nil {
		if text, err = json.Marshal(json.RawMessage(text)); err == nil { // protojson varies its white space
			fmt.Fprintf(l.Events, "%s\n", text)
		}
	}
}

// Uploading writes nothing.
func (l *EventLines) Uploading(int, uint64) {}

// Warn writes a line of text.
func (l *EventLines) Warn(format string, args ...any) { fmt.Fprintf(l.Warnings, format+"\n", args...) }

// File is one file of an output folder.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// OutputDir is an output folder. It is opened before the work begins, so that a wrong name is found early.
type OutputDir struct {
	Path string
	made bool // by OpenOutput
}

// OpenOutput opens an output folder, and creates it if it does not exist.
func OpenOutput(path string) (*OutputDir, error) {
	switch info, err := os.Stat(path); {
	case err == nil && !info.IsDir():
		return nil, fault.Invalid("BAD_OUTPUT", "%s: this is a file; --out needs a folder", path)
	case err == nil:
		return &OutputDir{Path: path}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be used: %v", path, shell.WithoutPath(err))
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be made: %v", path, shell.WithoutPath(err))
	}
	return &OutputDir{Path: path, made: true}, nil
}

// Abandon removes the folder if OpenOutput made it and it is still empty.
func (d *OutputDir) Abandon() {
	if d != nil && d.made {
		os.Remove(d.Path)
	}
}

// Write writes the files in order, each atomically, so that a reader who finds the last one finds all. It writes nothing
// when ctx has ended.
func (d *OutputDir) Write(ctx context.Context, files []File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.clear(files); err != nil {
		return err
	}
	for _, file := range files {
		if err := format.WriteFile(filepath.Join(d.Path, file.Name), file.Write); err != nil {
			return err
		}
	}
	return nil
}

// kLabels matches the names of the files with the labels for other numbers of clusters.
var kLabels = regexp.MustCompile(`^labels-k[0-9]+\.csv$`)

// clear removes files of an earlier run that this one does not replace.
func (d *OutputDir) clear(files []File) error {
	if _, err := os.Stat(filepath.Join(d.Path, ResultFile)); err != nil {
		return nil // no run wrote here
	}
	names := []string{suspectsFile, centroidsFile, metricFile, unitsFile, landmarksFile, projectionFile, embeddingFile, clustersFile, objectiveFile, methodsFile, kFile, PageFile,
		"ways.svg", // what earlier versions called methods.svg
		"labels.parquet", "labels.jsonl", "joined.csv", "joined.parquet", "joined.jsonl"}
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be read: %v", d.Path, shell.WithoutPath(err))
	}
	for _, entry := range entries {
		if kLabels.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	for _, name := range names {
		if slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			continue
		}
		if err := os.Remove(filepath.Join(d.Path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Invalid("BAD_OUTPUT", "%s: %s of an earlier run cannot be removed: %v", d.Path, name, shell.WithoutPath(err))
		}
	}
	return nil
}

// WriteFolder writes files into a folder, and creates it if it does not exist.
func WriteFolder(ctx context.Context, path string, files []File) error {
	out, err := OpenOutput(path)
	if err != nil {
		return err
	}
	if err := out.Write(ctx, files); err != nil {
		out.Abandon()
		return err
	}
	return nil
}
