package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/metadata"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/dial"
)

// A compressed message counts for what it unpacks to. It is refused when that exceeds the memory of requests, before
// all of it is unpacked.
func TestCompressedMessagesCountUnpacked(t *testing.T) {
	s := newServer(1<<20, 64<<20)
	got := httptest.NewRecorder()
	post(t, s, got, typeJSON, "gzip",
		bytes.NewReader(packed(t, []byte(`{"jobId":"x"`+strings.Repeat(" ", 16<<20)+`}`))))
	if got.Code != http.StatusTooManyRequests || !strings.Contains(got.Body.String(), "resource_exhausted") ||
		!strings.Contains(got.Body.String(), queue.TooManyCalls) {
		t.Errorf("got %d: %s", got.Code, got.Body)
	}
	if s.cfg.Memory.Held() != 0 {
		t.Errorf("%d bytes are held after the request", s.cfg.Memory.Held())
	}
}

// A message that is larger than the limit reserves memory up to the limit only, compressed or not.
func TestTooLargeMessagesReserveNoMoreThanTheLimit(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, 16*limit)
	envelope := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(zeros))), zeros...)
	for name, sent := range map[string]struct {
		kind, encoding string
		body           []byte
	}{
		"compressed": {typeJSON, "gzip", packed(t, zeros)},
		"plain":      {typeJSON, "", zeros},
		"gRPC-Web":   {"application/grpc-web+proto", "", envelope},
	} {
		s := newServer(messageMemory*limit, limit)
		got := httptest.NewRecorder()
		post(t, s, got, sent.kind, sent.encoding, bytes.NewReader(sent.body))
		if all := fmt.Sprint(got.Header(), got.Body); !strings.Contains(all,
			"message is larger than configured max 1048576") || strings.Contains(all, "memory") {
			t.Errorf("%s: got %s", name, all)
		}
	}
}

// A client has time for each part of a body that arrives, however many of them are unpacked together.
func TestEachPartOfACompressedBodyHasTime(t *testing.T) {
	noise := make([]byte, 1000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	slow := &slowBody{body: bytes.NewReader(packed(t, noise)), ResponseRecorder: httptest.NewRecorder()}
	post(t, newServer(1<<20, 1<<20), slow, typeJSON, "gzip", slow)
	if got := slow.Body.String(); !strings.Contains(got, "unmarshal message") { // all of it was read
		t.Errorf("got %s", got)
	}
}

// slowBody is a body that arrives in small parts, each just before its deadline.
type slowBody struct {
	*httptest.ResponseRecorder
	body    io.Reader
	hasTime bool
}

func (b *slowBody) SetReadDeadline(at time.Time) error {
	b.hasTime = !at.IsZero()
	return nil
}

func (b *slowBody) Read(p []byte) (int, error) {
	if !b.hasTime {
		return 0, os.ErrDeadlineExceeded
	}
	b.hasTime = false
	return b.body.Read(p[:min(len(p), 100)])
}

// newServer returns a server with so much memory, whose messages are limited.
func newServer(memory int64, message int) *Server {
	return New(Config{
		MaxMessageBytes: message, Memory: queue.NewBudget(0).Share(memory), ReadStall: time.Minute,
		WriteStall: time.Minute, Logger: hclog.NewNullLogger(),
		Authorize: func(context.Context, string, metadata.MD) error { return nil },
	})
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	if _, err := packer.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// post sends a body to a method, whose call would fail.
func post(t *testing.T, s *Server, w http.ResponseWriter, kind, encoding string, body io.Reader) {
	t.Helper()
	listener := dial.ListenPipe(dial.PipeAddr{})
	listener.Close()
	conn, _ := net.Pipe()
	c := &caller{Conn: conn, client: dialer{listener: listener}}
	defer c.Close()
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), callerKey{}, c), http.MethodPost,
		"http://localhost/cleave.v1.JobService/GetJob", body)
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Content-Encoding", encoding)
	s.http.Handler.ServeHTTP(w, request)
}
