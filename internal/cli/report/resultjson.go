package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"

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
	// The two messages have no field in common, and neither object is empty: TestResultAndRecordAreOneObject.
	joined := slices.Concat(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("}")), []byte(","),
		bytes.TrimPrefix(bytes.TrimSpace(record), []byte("{")))
	return PrintJSON(w, json.RawMessage(joined))
}

// WithZeros returns the JSON of a message, including fields that are zero or empty.
func WithZeros(message proto.Message) (json.RawMessage, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(message)
}

// ReadResult reads the result.json of a folder. Each of the two messages ignores the fields of the other.
func ReadResult(folder string) (*cleavev1.Result, *cleavev1.RunRecord, error) {
	path := filepath.Join(folder, ResultFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fault.Invalid("FILE_NOT_READABLE",
			"%s: the file cannot be read: %v; a folder that cleave run --out wrote has it", path,
			shell.WithoutPath(err))
	}
	result, run := &cleavev1.Result{}, &cleavev1.RunRecord{}
	for _, message := range []proto.Message{result, run} {
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, message); err != nil {
			return nil, nil, fault.Invalid("BAD_MODEL", "%s: this is not a result of this version of Cleave: %v",
				path, err)
		}
		if err := checkFinite(message); err != nil {
			return nil, nil, fault.Invalid("BAD_MODEL", "%s: %v", path, err)
		}
	}
	return result, run, nil
}

// checkFinite refuses a message with a number that is infinite or NaN, which a plot could not show. A file that was
// edited or damaged may contain such numbers.
func checkFinite(message proto.Message) error {
	return protorange.Range(message.ProtoReflect(), func(at protopath.Values) error {
		if v, is := at.Index(-1).Value.Interface().(float64); is && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return fmt.Errorf("%s is %v; every number must be finite", strings.TrimPrefix(at.Path[1:].String(), "."), v)
		}
		return nil
	})
}
