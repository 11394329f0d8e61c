package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
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
