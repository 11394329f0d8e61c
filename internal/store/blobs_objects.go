package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/cleave-project/cleave/internal/fault"
)

// These bounds limit how much of an object is written but not yet known to be stored, so that a slow store can be told
// from one that hangs.
const (
	partBytes   = 8 << 20
	partsAtOnce = 2
)

// objectStore is a bucket in an object store.
type objectStore struct{ *blob.Bucket }

// openObjectStore opens the blobs in an object store whose driver the program imports. It sends nothing, so that a
// coordinator starts even if the object store is down. The drivers retry failed requests for some seconds; after
// that, errors are fault.Unavailable.
func openObjectStore(ctx context.Context, where string, u *url.URL) (bucket, error) {
	if !blob.DefaultURLMux().ValidBucketScheme(u.Scheme) {
		return nil, driverMissing(where, u)
	}
	b, err := blob.OpenBucket(ctx, where)
	if err != nil {
		return nil, fmt.Errorf("cannot open the blob store %s: %w", u.Redacted(), err)
	}
	return objectStore{b}, nil
}

// create implements bucket. The store itself rejects a key that another writer has taken meanwhile.
func (s objectStore) create(ctx context.Context, key string, write func(io.Writer) error) error {
	ctx, discard := context.WithCancel(ctx)
	defer discard()
	w, err := s.NewWriter(ctx, key, &blob.WriterOptions{
		IfNotExist: true,
		// Without a type, gocloud would buffer the first bytes to guess it.
		ContentType:    "application/octet-stream",
		BufferSize:     partBytes,
		MaxConcurrency: partsAtOnce,
	})
	if err != nil {
		return err
	}
	written := false
	defer func() {
		if !written { // also if write panics
			discard() // makes Close discard what was written
			_ = w.Close()
		}
	}()
	if err := write(w); err != nil {
		return err
	}
	written = true
	err = w.Close()
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		err = ErrExists
	}
	return err
}

func (s objectStore) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := s.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, missingObject(err)
	}
	return r, nil
}

func (s objectStore) size(ctx context.Context, key string) (int64, error) {
	attributes, err := s.Attributes(ctx, key)
	if err != nil {
		return 0, missingObject(err)
	}
	return attributes.Size, nil
}

func (s objectStore) remove(ctx context.Context, key string) error {
	return missingObject(s.Delete(ctx, key))
}

// missingObject returns ErrNotFound for an object that does not exist, and other errors as they are.
func missingObject(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return ErrNotFound
	}
	return err
}

func (s objectStore) each(ctx context.Context, prefix string, visit func(string, int64)) error {
	objects := s.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := objects.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		progressed(ctx)
		visit(object.Key, object.Size)
	}
}

func (s objectStore) signedURL(ctx context.Context, key string, valid time.Duration) (string, error) {
	signed, err := s.SignedURL(ctx, key, &blob.SignedURLOptions{Expiry: valid})
	if gcerrors.Code(err) == gcerrors.Unimplemented { // there is no key to sign with
		return "", nil
	}
	return signed, err
}

func (s objectStore) free() (bytes int64, known bool) { return 0, false }

func (s objectStore) removeTemporary(context.Context) {} // object stores have no temporary files

func (s objectStore) close() error { return s.Close() }

// explain treats every error as temporary, except answers about whether an object exists: the store may be restarting,
// overloaded or unreachable, or somebody may correct its access rights.
func (s objectStore) explain(name string, err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.OK, gcerrors.FailedPrecondition, gcerrors.Canceled:
		return blobError(name, err)
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, ErrExists, ErrNotFound} {
		if errors.Is(err, known) {
			return blobError(name, err)
		}
	}
	if ahead := storeAhead(err); ahead > maxSkew || ahead < -maxSkew {
		return fault.New(fault.Unavailable, blobsUnavailable,
			"the object store refuses a request (blob %q), and its clock differs from that of the coordinator by %v; "+
				"set the clock that is wrong",
			name, ahead.Abs().Round(time.Second)).With("blob", name).Because(err)
	}
	return fault.New(fault.Unavailable, blobsUnavailable,
		"the object store failed a request (blob %q: %s); see the coordinator's log", name, gcerrors.Code(err)).
		With("blob", name).Because(err)
}

// maxSkew is how far the time of a request may be from that of the store before stores refuse it.
const maxSkew = 15 * time.Minute

// storeAhead returns how far the clock of an object store that refused a request is ahead of ours, as far as its
// answer says.
func storeAhead(err error) time.Duration {
	response, is := errors.AsType[*smithyhttp.ResponseError](err)
	if !is || response.HTTPStatusCode() != http.StatusForbidden {
		return 0
	}
	date, err := http.ParseTime(response.Response.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return time.Until(date)
}
