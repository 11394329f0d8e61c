package report

import (
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

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
