package report

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// WriteResult writes result.json: one object with the fields of a result and of the record of its run, including those
// that are zero. Numbers are in the shortest form that reads back to the same bits.
func WriteResult(w io.Writer, r *cleavev1.Result, run *cleavev1.RunRecord) error {
	text, err := WithZeros(r)
	if err != nil {
		return err
	}
	record, err := WithZeros(run)
	if err != nil {
		return err
	}
	// The two messages have no field in common, and neither is ever empty.
	joined := slices.Concat(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}")), []byte(","), bytes.TrimPrefix(bytes.TrimSpace(record), []byte("{")))
	return PrintJSON(w, json.RawMessage(joined))
}

// WithZeros returns the JSON of a message, including fields that are zero or empty.
func WithZeros(message proto.Message) (json.RawMessage, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(message)
}

// ReadResult reads the result.json of a folder. Fields of other versions are ignored.
func ReadResult(folder string) (*cleavev1.Result, *cleavev1.RunRecord, error) {
	path := filepath.Join(folder, ResultFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fault.Invalid("FILE_NOT_READABLE", "%s: the file cannot be read: %v; a folder that cleave run --out wrote has it", path, shell.WithoutPath(err))
	}
	result, run := &cleavev1.Result{}, &cleavev1.RunRecord{}
	for _, message := range []proto.Message{result, run} {
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, message); err != nil {
			return nil, nil, fault.Invalid("BAD_MODEL", "%s: this is not a result of this version of Cleave: %v", path, err)
		}
	}
	return result, run, nil
}
