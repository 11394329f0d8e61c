package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/metadata"

	"github.com/cleave-project/cleave/internal/coordinator/ledger"
	"github.com/cleave-project/cleave/internal/dial/pipe"
)

// A compressed message counts for what it unpacks to. It is refused when that exceeds the memory of requests, before
// all of it is unpacked.
func TestCompressedMessagesCountUnpacked(t *testing.T) {
	memory := ledger.New(0).Part(1 << 20)
	s := New(Config{
		MaxMessageBytes: 64 << 20, Memory: memory, ReadStall: time.Minute, WriteStall: time.Minute, Logger: hclog.NewNullLogger(),
		Authorize: func(context.Context, string, metadata.MD) error { return nil },
	})
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	if _, err := packer.Write([]byte(`{"jobId":"x"` + strings.Repeat(" ", 16<<20) + `}`)); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	listener := pipe.Listen(pipe.Addr{})
	listener.Close() // a call would fail
	conn, _ := net.Pipe()
	c := newCaller(conn, dialer{listener: listener})
	defer c.Close()
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), callerKey{}, c), http.MethodPost,
		"http://localhost/cleave.v1.JobService/GetJob", &packed)
	request.Header.Set("Content-Type", typeJSON)
	request.Header.Set("Content-Encoding", "gzip")
	recorder := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusTooManyRequests || !strings.Contains(recorder.Body.String(), "resource_exhausted") {
		t.Errorf("got %d: %s", recorder.Code, recorder.Body)
	}
	if memory.Held() != 0 {
		t.Errorf("%d bytes are held after the request", memory.Held())
	}
}
