// Package ranged reads an object over HTTP in ranges. It needs no credentials: whoever has them signs the URLs.
package ranged

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/redact"
)

// Reasons of errors.
const (
	Changed    = "OBJECT_CHANGED"    // the object was replaced or deleted
	Unreadable = "OBJECT_UNREADABLE" // the store does not deliver the object
)

// CacheBytes is the most that a File keeps in memory, unless more readers wait for blocks than SetStreams was told.
const CacheBytes = 32 << 20

const (
	largestBlock  = 1 << 20
	smallestBlock = 32 << 10
	mostAhead     = 4 // blocks that are fetched before they are needed
)

// attempts limits how often a range is requested, and retries says how long to wait in between.
const attempts = 6

var retries = dial.BackoffPolicy{First: 100 * time.Millisecond, Max: 3 * time.Second}

const (
	connectTimeout = 5 * time.Second
	answerTimeout  = 30 * time.Second // how long a store may send nothing
)

var errSilent = fmt.Errorf("the store sent nothing for %v", answerTimeout)

// NewClient returns a client for signed URLs. It follows no redirects, because they could lead to a server that
// whoever signed the URL did not intend.
func NewClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
	transport.TLSHandshakeTimeout, transport.ResponseHeaderTimeout, transport.MaxIdleConnsPerHost = connectTimeout,
		answerTimeout, 16
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Object says what to read.
type Object struct {
	URI  string // for messages
	URL  string // where it is
	Size int64
	ETag string // of the version to read; "" if the URL names a version
}

// File is an object that is being read. It fetches blocks, keeps those used last, and fetches ahead what is read in
// order. It is safe for concurrent use.
type File struct {
	Object
	ctx    context.Context
	client *http.Client
	moved  func(bytes int) // called when bytes arrive

	mu     sync.Mutex // guards what follows, and URL
	bytes  int64      // of a block
	ahead  int64      // blocks to fetch ahead
	blocks map[int64]*block
	clock  int // counts the uses of blocks
}

// block is a part of the object that was fetched or is being fetched.
type block struct {
	used  int           // when it was last used
	ready chan struct{} // closed when data or err is set
	data  []byte
	err   error
}

// Open returns a file that is read until ctx ends. It sends nothing yet. moved is called when bytes arrive.
func Open(ctx context.Context, client *http.Client, object Object, moved func(bytes int)) *File {
	f := &File{Object: object, ctx: ctx, client: client, moved: moved}
	f.SetStreams(1)
	return f
}

// SetURL replaces the URL by one that expires later.
func (f *File) SetURL(url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.URL = url
}

// SetStreams says in how many places the file is read at the same time, such as the columns of a row group. It drops
// what is kept.
func (f *File) SetStreams(streams int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := int64(largestBlock)
	for size > smallestBlock && 2*size*int64(streams) > CacheBytes {
		size /= 2
	}
	f.bytes, f.blocks = size, map[int64]*block{}
	f.ahead = max(1, min(mostAhead, CacheBytes/size/int64(2*max(1, streams))))
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		if at < 0 || at >= f.Size {
			return n, io.EOF
		}
		data, offset, err := f.from(at)
		if err != nil {
			return n, err
		}
		read := copy(p[n:], data[offset:])
		n, at = n+read, at+int64(read)
	}
	return n, nil
}

// from returns the block that has the byte at a position, and the place of the byte in it.
func (f *File) from(at int64) (data []byte, offset int64, err error) {
	f.mu.Lock()
	size := f.bytes
	number := at / size
	b := f.need(number)
	if f.blocks[number-1] != nil { // the file is read in order
		for next := number + 1; next <= number+f.ahead && next*size < f.Size &&
			(f.blocks[next] != nil || f.makeRoom()); next++ {
			f.need(next)
		}
	}
	f.mu.Unlock()
	select {
	case <-b.ready:
		return b.data, at - number*size, b.err
	case <-f.ctx.Done():
		return nil, 0, f.ctx.Err()
	}
}

// need returns a block and begins to fetch it if it is not there. The caller holds f.mu.
func (f *File) need(number int64) *block {
	f.clock++
	b := f.blocks[number]
	if b != nil {
		b.used = f.clock
		return b
	}
	f.makeRoom()
	b = &block{used: f.clock, ready: make(chan struct{})}
	blocks, size := f.blocks, f.bytes
	blocks[number] = b
	go func() {
		defer close(b.ready)
		from := number * size
		if b.data, b.err = f.fetch(from, min(size, f.Size-from)); b.err != nil {
			f.mu.Lock()
			if blocks[number] == b { // and not one that replaced it
				delete(blocks, number)
			}
			f.mu.Unlock()
		}
	}()
	return b
}

// makeRoom forgets the fetched blocks that were not used for the longest time, if there are too many. It reports
// whether there is room for another block then. The caller holds f.mu.
func (f *File) makeRoom() bool {
	for int64(len(f.blocks)+1)*f.bytes > CacheBytes {
		oldest := int64(-1)
		for number, b := range f.blocks {
			if b.fetched() && (oldest < 0 || b.used < f.blocks[oldest].used) {
				oldest = number
			}
		}
		if oldest < 0 {
			return false
		}
		delete(f.blocks, oldest)
	}
	return true
}

func (b *block) fetched() bool {
	select {
	case <-b.ready:
		return true
	default:
		return false
	}
}

// fetch requests a range, several times if the store does not answer.
func (f *File) fetch(from, length int64) (data []byte, err error) {
	pause := dial.NewBackoff(retries)
	for attempt := 1; ; attempt++ {
		var again bool
		if data, again, err = f.request(from, length); err == nil || !again || attempt == attempts {
			return data, err
		}
		if stopped := pause.Wait(f.ctx); stopped != nil {
			return nil, stopped
		}
	}
}

// request requests a range once. again reports whether another attempt may succeed.
func (f *File) request(from, length int64) (data []byte, again bool, err error) {
	f.mu.Lock()
	where := f.URL
	f.mu.Unlock()
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	silence := time.AfterFunc(answerTimeout, func() { cancel(errSilent) })
	defer silence.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, false, f.unreadable("its URL is not valid")
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+length-1))
	request.Header.Set("Accept-Encoding", "identity") // ranges are of the stored bytes
	if f.ETag != "" {
		request.Header.Set("If-Match", f.ETag)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, true, f.unreadable(cmp.Or(context.Cause(ctx), redact.WithoutURL(err)).Error())
	}
	defer response.Body.Close()
	if again, err := f.check(response, from, length); err != nil {
		return nil, again, err
	}
	data = make([]byte, length)
	for n := 0; n < len(data); {
		read, err := response.Body.Read(data[n:])
		if f.moved(read); read > 0 {
			silence.Reset(answerTimeout)
			n += read
			continue
		}
		if err != nil {
			why := cmp.Or(context.Cause(ctx), redact.WithoutURL(err))
			return nil, true, f.unreadable(fmt.Sprintf("the transfer broke off after %d of %d bytes (%v)", n,
				len(data), why))
		}
	}
	return data, false, nil
}

// check checks the status and the headers of a response.
func (f *File) check(response *http.Response, from, length int64) (again bool, err error) {
	switch code := response.StatusCode; {
	case code == http.StatusPreconditionFailed, code == http.StatusRequestedRangeNotSatisfiable:
		return false, f.changed("was replaced")
	case code == http.StatusNotFound, code == http.StatusGone:
		return false, f.changed("was deleted")
	case code == http.StatusPartialContent:
		if want := fmt.Sprintf("bytes %d-%d/%d", from, from+length-1,
			f.Size); response.Header.Get("Content-Range") != want {
			return false, f.changed("has another size now")
		}
	case code == http.StatusOK && length == f.Size && (response.ContentLength == f.Size || response.ContentLength < 0):
		// all of it
	case code == http.StatusOK:
		return false, f.unreadable("the store ignores ranges")
	default:
		beginning, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		reason := fmt.Sprintf("the store answers %q", cmp.Or(errorCode(beginning), response.Status))
		return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout,
			f.unreadable(reason)
	}
	if found := response.Header.Get("ETag"); f.ETag != "" && found != "" && strong(found) != strong(f.ETag) {
		return false, f.changed("was replaced")
	}
	return false, nil
}

// strong returns an ETag without the mark of a weak one.
func strong(etag string) string { return strings.Trim(strings.TrimPrefix(etag, "W/"), `"`) }

var codeElement = regexp.MustCompile(`<Code>([A-Za-z0-9]{1,60})</Code>`)

// errorCode returns the code in the XML of an error, as S3 and GCS send it, or "".
func errorCode(body []byte) string {
	if found := codeElement.FindSubmatch(body); found != nil {
		return string(found[1])
	}
	return ""
}

func (f *File) changed(how string) error {
	return fault.New(fault.FailedPrecondition, Changed, "%s %s while it was read; import it again", f.URI, how).
		With("uri", f.URI)
}

func (f *File) unreadable(why string) error {
	return fault.New(fault.Unavailable, Unreadable, "%s cannot be read: %s", f.URI, why).With("uri", f.URI)
}
