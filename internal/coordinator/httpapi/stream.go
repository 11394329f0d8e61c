package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Types of content.
const (
	typeJSON    = "application/json"
	typeLines   = "application/x-ndjson"
	typeEvents  = "text/event-stream"
	typeCSV     = "text/csv"
	typeParquet = "application/vnd.apache.parquet"
)

// accepted returns the offer that a request prefers: the first one if it accepts anything.
func accepted(r *http.Request, offers ...string) (string, error) {
	given := strings.Join(r.Header.Values("Accept"), ",")
	if given == "" {
		return offers[0], nil
	}
	best, bestQuality := "", 0.0
	for _, offer := range offers {
		quality, exact := 0.0, -1
		for part := range strings.SplitSeq(given, ",") {
			name, parameters, err := mime.ParseMediaType(part)
			q, parseErr := strconv.ParseFloat(parameters["q"], 64)
			if parameters["q"] == "" || parseErr != nil {
				q = 1
			}
			precision := 2
			switch {
			case err != nil:
				continue
			case name == "*/*":
				precision = 0
			case strings.HasSuffix(name, "/*") && strings.HasPrefix(offer, strings.TrimSuffix(name, "*")):
				precision = 1
			case name != offer:
				continue
			}
			if precision > exact {
				quality, exact = q, precision
			}
		}
		if quality > bestQuality {
			best, bestQuality = offer, quality
		}
	}
	if best == "" {
		return "", badRequest("", "the Accept header allows none of %s", strings.Join(offers, ", "))
	}
	return best, nil
}

// stream answers a request by the messages of a call: one line of JSON for each or, for the events of a job,
// server-sent events if the client asks for them.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, route Route, query url.Values) error {
	offers := []string{typeLines, typeJSON} // both get lines of JSON, labeled as lines: a stream is not one JSON value
	watch := route.Method.Name() == "WatchJob"
	if watch {
		offers = append(offers, typeEvents)
	}
	kind, err := accepted(r, offers...)
	if err != nil {
		return err
	}
	in, err := s.read(w, r, route, query)
	if err != nil {
		return err
	}
	resumed := r.Header.Get("Last-Event-ID")
	if watch && resumed != "" {
		sequence, err := strconv.ParseUint(resumed, 10, 32)
		if err != nil {
			return badRequest("after_sequence", "Last-Event-ID is %.40q; it must be the number of an event", resumed)
		}
		in.(*cleavev1.WatchJobRequest).AfterSequence = uint32(sequence)
	}
	out := &lineWriter{w: w, kind: typeLines, flush: watch}
	if kind == typeEvents {
		out.kind = kind
	}
	return out.writeAll(r.Context(), route.Method, in, watch && resumed != "")
}

// writeAll makes a call and writes its messages as they arrive. resumed says that the client has seen earlier ones.
func (l *lineWriter) writeAll(ctx context.Context, method protoreflect.MethodDescriptor, in proto.Message,
	resumed bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := receive(ctx, method, in)
	var alive <-chan time.Time
	if l.kind == typeEvents {
		ticker := time.NewTicker(keepAlive)
		defer ticker.Stop()
		alive = ticker.C
	}
	begin := time.After(firstMessageWait)
	for {
		select {
		case <-begin: // nothing to send yet, but the client should know that it is connected
			l.begin()
		case <-alive:
			l.comment()
		case m, more := <-messages:
			switch {
			case !more && !l.begun && resumed:
				l.w.WriteHeader(http.StatusNoContent) // tells an EventSource not to connect again
				return nil
			case !more:
				l.begin()
				return nil
			case m.err != nil && !l.begun:
				return m.err
			case m.err != nil:
				l.fail(m.err)
				return nil
			}
			if err := l.write(m.message); err != nil {
				return nil //nolint:nilerr // the client has gone
			}
		}
	}
}

const (
	keepAlive        = 15 * time.Second // between comments, so that proxies keep the connection
	firstMessageWait = time.Second      // how long to wait for the first message before the headers are sent
)

// received is a message of a call, or the error that ended it.
type received struct {
	message proto.Message
	err     error
}

// receive makes a call and returns its messages. The channel is closed when the call has ended. The caller must
// cancel ctx.
func receive(ctx context.Context, method protoreflect.MethodDescriptor, in proto.Message) <-chan received {
	messages := make(chan received)
	go func() {
		defer close(messages)
		pass := func(m received) bool {
			select {
			case messages <- m:
				return true
			case <-ctx.Done():
				return false
			}
		}
		stream, err := request(ctx, method, in)
		for err == nil {
			m := newMessage(method.Output())
			if err = stream.RecvMsg(m); err == nil && !pass(received{message: m}) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			pass(received{err: err})
		}
	}()
	return messages
}

// lineWriter writes messages as lines of JSON or as server-sent events.
type lineWriter struct {
	w     http.ResponseWriter
	kind  string
	flush bool // after each message
	begun bool
}

func (l *lineWriter) begin() {
	if l.begun {
		return
	}
	l.begun = true
	l.w.Header().Set("Content-Type", l.kind)
	l.w.Header().Set("X-Accel-Buffering", "no") // some proxies would hold events back
	l.w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(l.w).Flush()
}

func (l *lineWriter) write(m proto.Message) error {
	l.begin()
	text, err := marshal(restJSON, m)
	if err != nil {
		return err
	}
	return l.line(text, sequenceOf(m), "")
}

// line writes a line of JSON. Events have a number, by which a client resumes.
func (l *lineWriter) line(text []byte, sequence uint32, event string) (err error) {
	var line []byte
	if l.kind == typeEvents {
		if event != "" {
			line = append(append(append(line, "event: "...), event...), '\n')
		}
		if sequence > 0 {
			line = append(strconv.AppendUint(append(line, "id: "...), uint64(sequence), 10), '\n')
		}
		line = append(line, "data: "...)
		text = append(text, '\n')
	}
	_, err = l.w.Write(append(append(line, text...), '\n'))
	if l.flush && err == nil {
		err = http.NewResponseController(l.w).Flush()
	}
	return err
}

// sequenceOf returns the number of an event, or 0 for other messages.
func sequenceOf(m proto.Message) uint32 {
	item, _ := m.(*cleavev1.WatchJobResponse)
	return item.GetEvent().GetSequence()
}

// comment sends an SSE comment, which clients ignore, so that proxies keep the connection open.
func (l *lineWriter) comment() {
	l.begin()
	_, _ = io.WriteString(l.w, ": still here\n\n")
	_ = http.NewResponseController(l.w).Flush()
}

// fail ends a response that has begun: its last line is the error.
func (l *lineWriter) fail(err error) {
	text := errorJSON(statusOf(err))
	if l.kind == typeLines {
		text = append(append([]byte(`{"error":`), text...), '}')
	}
	_ = l.line(text, 0, "failure")
}
