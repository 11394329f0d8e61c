package ranged

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/cleave-project/cleave/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// content returns bytes that differ from each other.
func content(size int) []byte {
	data := make([]byte, size)
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	for at := range data {
		data[at] = byte(rng.Uint32())
	}
	return data
}

// serve serves an object with an ETag. before may answer a request instead.
func serve(t *testing.T, data []byte, before func(w http.ResponseWriter, r *http.Request) bool) Object {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil && before(w, r) {
			return
		}
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	t.Cleanup(server.Close)
	return Object{URI: "s3://bucket/key", URL: server.URL + "/key?Signature=secret", Size: int64(len(data)),
		ETag: `"one"`}
}

func open(t *testing.T, o Object, moved func(int)) *File {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return Open(ctx, client, o, moved)
}

// Reads in order and at any place return the bytes of the object, with little more than its size transferred in order.
func TestReads(t *testing.T) {
	data := content(9<<20 + 17)
	var arrived atomic.Int64
	f := open(t, serve(t, data, nil), func(n int) { arrived.Add(int64(n)) })
	read, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	if err != nil || !bytes.Equal(read, data) {
		t.Fatalf("%d bytes, %v", len(read), err)
	}
	if n := arrived.Load(); n != int64(len(data)) {
		t.Errorf("%d bytes were transferred for %d", n, len(data))
	}
	f.SetStreams(300)
	if f.bytes != 32<<10 {
		t.Errorf("a block has %d bytes", f.bytes)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		at := rng.Int64N(f.Size)
		p := make([]byte, rng.IntN(300_000))
		n, err := f.ReadAt(p, at)
		want := data[at:min(f.Size, at+int64(len(p)))]
		if !bytes.Equal(p[:n], want) || (err == nil) != (n == len(p)) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%d of %d bytes at %d, %v", n, len(p), at, err)
		}
		if held := int64(len(f.blocks)) * f.bytes; held > CacheBytes {
			t.Fatalf("%d bytes are kept", held)
		}
	}
	if _, err := f.ReadAt(make([]byte, 1), f.Size); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// Errors of the store that may pass are tried again.
func TestRetries(t *testing.T) {
	data := content(3 << 20)
	var failed atomic.Int64
	f := open(t, serve(t, data, func(w http.ResponseWriter, r *http.Request) bool {
		switch failed.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2: // breaks off
			w.Header().Set("Content-Length", "1048576")
			w.Header().Set("Content-Range", "bytes 0-1048575/3145728")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[:1000])
		default:
			return false
		}
		return true
	}), func(int) {})
	if read, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size)); err != nil || !bytes.Equal(read, data) {
		t.Fatalf("%d bytes, %v", len(read), err)
	}
}

func TestRefusals(t *testing.T) {
	data := content(1000)
	for name, c := range map[string]struct {
		before func(w http.ResponseWriter, r *http.Request) bool
		change func(o *Object)
		reason string
		says   string
	}{
		"replaced": {nil, func(o *Object) { o.ETag = `"two"` }, Changed,
			"s3://bucket/key was replaced while it was read"},
		"another ETag": {func(w http.ResponseWriter, r *http.Request) bool { r.Header.Del("If-Match"); return false },
			func(o *Object) { o.ETag = `"two"` }, Changed, "was replaced"},
		"shorter": {nil, func(o *Object) { o.Size = 2000 }, Changed, "has another size"},
		"deleted": {func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(404); return true }, nil, Changed,
			"was deleted"},
		"denied": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(403)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code></Error>")
			return true
		}, nil, Unreadable, `the store answers "AccessDenied"`},
		"without ranges": {func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = w.Write(data[:10])
			return true
		}, nil, Unreadable, "ignores ranges"},
		"nobody answers": {nil, func(o *Object) { o.URL = "http://127.0.0.1:1/key?Signature=secret" }, Unreadable,
			"connection refused"},
		"a URL that is none": {nil, func(o *Object) { o.URL = ":Signature=secret" }, Unreadable, "not valid"},
	} {
		o := serve(t, data, c.before)
		if c.change != nil {
			c.change(&o)
		}
		_, err := open(t, o, func(int) {}).ReadAt(make([]byte, 10), 0)
		if !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A canceled read ends at once.
func TestCanceled(t *testing.T) {
	o := serve(t, content(10), func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	f := Open(ctx, client, o, func(int) {})
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := f.ReadAt(make([]byte, 10), 0); err == nil {
		t.Error("a canceled read succeeds")
	}
}

// stores answers requests without a network.
type stores func(*http.Request) *http.Response

func (s stores) RoundTrip(r *http.Request) (*http.Response, error) { return s(r), nil }

// part is the answer to a request for a range of data.
func part(r *http.Request, data []byte, body io.Reader) *http.Response {
	var from, to int
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
	if body == nil {
		body = bytes.NewReader(data[from : to+1])
	}
	header := http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", from, to, len(data))}}
	return &http.Response{StatusCode: http.StatusPartialContent, Header: header, Body: io.NopCloser(body), Request: r}
}

// hanging is a body that sends nothing until its request is canceled.
type hanging struct{ ctx context.Context }

func (h hanging) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

// A range whose transfer hangs is requested again.
func TestAHangingTransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := content(1000)
		requests := 0
		client := &http.Client{Transport: stores(func(r *http.Request) *http.Response {
			if requests++; requests == 1 {
				return part(r, data, io.MultiReader(bytes.NewReader(data[:10]), hanging{r.Context()}))
			}
			return part(r, data, nil)
		})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		f := Open(ctx, client, Object{URI: "s3://bucket/key", URL: "http://store/key", Size: int64(len(data))},
			func(int) {})
		read, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
		if err != nil || !bytes.Equal(read, data) || requests != 2 {
			t.Errorf("%d bytes after %d requests, %v", len(read), requests, err)
		}
	})
}

// A store that always hangs is an error that says so.
func TestAStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := content(1000)
		client := &http.Client{Transport: stores(func(r *http.Request) *http.Response {
			return part(r, data, hanging{r.Context()})
		})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		f := Open(ctx, client, Object{URI: "s3://bucket/key", URL: "http://store/key", Size: int64(len(data))},
			func(int) {})
		if _, err := f.ReadAt(make([]byte, 1), 0); !fault.Is(err, Unreadable) ||
			!strings.Contains(err.Error(), "sent nothing for 30s") {
			t.Error(err)
		}
	})
}

// Blocks that are being fetched count as memory. While they fill it, a reader fetches the block it needs and none
// ahead.
func TestBlocksInFlightCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := make([]byte, 3*CacheBytes)
		var asked atomic.Int64
		release := make(chan struct{})
		client := &http.Client{Transport: stores(func(r *http.Request) *http.Response {
			asked.Add(1)
			<-release
			return part(r, data, nil)
		})}
		f := Open(t.Context(), client, Object{URI: "s3://bucket/key", URL: "http://store/key", Size: int64(len(data))},
			func(int) {})
		var readers sync.WaitGroup
		const pairs = 16
		for number := range int64(pairs) {
			for _, at := range []int64{5 * number, 5*number + 1} { // the second has four blocks fetched ahead
				readers.Go(func() {
					if _, err := f.ReadAt(make([]byte, 1), at*f.bytes); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
		}
		if held, most := asked.Load()*f.bytes, CacheBytes+2*pairs*f.bytes; held > most {
			t.Errorf("%d MiB are being fetched, at most %d are allowed", held>>20, most>>20)
		}
		close(release)
		readers.Wait()
		synctest.Wait()
	})
}

// The failure of a block that was forgotten does not forget the block that replaced it.
func TestAReplacedBlockStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := content(1000)
		fail := make(chan struct{})
		requests := 0
		client := &http.Client{Transport: stores(func(r *http.Request) *http.Response {
			if requests++; requests > 1 {
				return part(r, data, nil)
			}
			<-fail
			return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}
		})}
		f := Open(t.Context(), client, Object{URI: "s3://bucket/key", URL: "http://store/key", Size: int64(len(data))},
			func(int) {})
		f.mu.Lock()
		f.need(0)
		f.mu.Unlock()
		synctest.Wait()
		f.mu.Lock()
		delete(f.blocks, 0)
		replaced := f.need(0)
		f.mu.Unlock()
		synctest.Wait()
		close(fail)
		synctest.Wait()
		if f.blocks[0] != replaced {
			t.Error("the block is gone")
		}
	})
}
