package store

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	_ "gocloud.dev/blob/s3blob" // s3://

	"github.com/cleave-project/cleave/internal/fault"
)

// skewedStore is an S3 server whose clock differs. It refuses requests that are signed more than 15 minutes before or
// after its own time, as S3 does, and checks nothing else.
type skewedStore struct {
	ahead time.Duration

	mu      sync.Mutex
	objects map[string][]byte
	refused int
}

func (s *skewedStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().Add(s.ahead)
	w.Header()["Date"] = []string{now.UTC().Format(http.TimeFormat)}
	signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if off := now.Sub(signed); err != nil || off > maxSkew || off < -maxSkew {
		s.refused++
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<Error><Code>RequestTimeTooSkewed</Code><Message>The difference between the request time and `+
			`the current time is too large.</Message></Error>`)
		return
	}
	switch body, err := io.ReadAll(r.Body); {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodPut:
		s.objects[r.URL.Path] = body
	case s.objects[r.URL.Path] == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.Header().Set("Last-Modified", now.UTC().Format(http.TimeFormat))
		http.ServeContent(w, r, "", now, strings.NewReader(string(s.objects[r.URL.Path])))
	}
}

func openSkewed(t *testing.T, s *skewedStore) Blobs {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s.objects = map[string][]byte{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	blobs, err := OpenBlobs(t.Context(), "s3://bucket?region=us-east-1&use_path_style=true&endpoint="+
		url.QueryEscape(server.URL))
	check(t, err)
	t.Cleanup(func() { check(t, blobs.Close()) })
	return blobs
}

// A store says what its time is when it refuses a request, and further requests are signed with that time. A
// coordinator begins with reading a blob.
func TestAnObjectStoreWhoseClockDiffers(t *testing.T) {
	for _, ahead := range []time.Duration{0, 2 * time.Hour, -48 * time.Hour} {
		s := &skewedStore{ahead: ahead}
		blobs := openSkewed(t, s)
		if _, err := blobs.Open(t.Context(), "a", 0, -1); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v ahead: %v", ahead, err)
		}
		check(t, blobs.Put(t.Context(), "a", func(w io.Writer) error {
			_, err := io.WriteString(w, "content")
			return err
		}))
		r, err := blobs.Open(t.Context(), "a", 0, -1)
		check(t, err)
		text, err := io.ReadAll(r)
		check(t, err)
		check(t, r.Close())
		if string(text) != "content" || (s.refused > 0) != (ahead != 0) {
			t.Errorf("%v ahead: %q, %d requests refused", ahead, text, s.refused)
		}
	}
}

// A refusal without text, as that of a question whether a blob exists, is not tried again by itself. Its error says
// what is wrong, and what follows is signed with the store's time.
func TestAnObjectStoreThatRefusesTheClock(t *testing.T) {
	blobs := openSkewed(t, &skewedStore{ahead: 90 * time.Minute})
	put := func() error {
		return blobs.Put(t.Context(), "a", func(w io.Writer) error {
			_, err := io.WriteString(w, "content")
			return err
		})
	}
	if err := put(); !fault.Is(err, blobsUnavailable) ||
		!strings.Contains(err.Error(), "its clock differs from that of the coordinator by 1h") {
		t.Errorf("%v", err)
	}
	check(t, put())
}
