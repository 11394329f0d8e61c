package report

import (
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// NewEventLines writes every event as a line of JSON.
func NewEventLines(events, notes io.Writer) *eventLines { return &eventLines{events, notes} }

// eventLines writes numbered events as lines of JSON; live progress is not part of the record.
type eventLines struct{ events, notes io.Writer }

func (l *eventLines) Item(item *cleavev1.WatchJobResponse) {
	if item.GetEvent() == nil {
		return
	}
	if text, err := protojson.Marshal(item.GetEvent()); err == nil {
		if text, err = json.Marshal(json.RawMessage(text)); err == nil { // settles the white space
			fmt.Fprintf(l.events, "%s\n", text)
		}
	}
}

func (l *eventLines) Uploading(int, uint64) {}

func (l *eventLines) Say(format string, args ...any) { fmt.Fprintf(l.notes, format+"\n", args...) }
