package report

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// WriteResult writes result.json: the JSON of the API's Result with its zeros. Numbers are in the shortest
// form that reads back to the same bits.
func WriteResult(w io.Writer, r *cleavev1.Result) error {
	text, err := WithZeros(r)
	if err != nil {
		return err
	}
	return PrintJSON(w, text)
}

// WithZeros is the JSON of a message in which fields that are zero or empty have their place.
func WithZeros(message proto.Message) (json.RawMessage, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(message)
}

// ReadResult reads the result.json of a folder.
func ReadResult(folder string) (*cleavev1.Result, error) {
	path := filepath.Join(folder, ResultFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Invalid("FILE_NOT_READABLE", "%s: the file cannot be read: %v; a folder that cleave run --out wrote has it", path, shell.WithoutPath(err))
	}
	result := &cleavev1.Result{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, result); err != nil {
		return nil, fault.Invalid("BAD_MODEL", "%s: this is no result of this version of Cleave: %v", path, err)
	}
	return result, nil
}
