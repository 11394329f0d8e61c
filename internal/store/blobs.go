package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// Blobs stores large values under write-once names such as "jobs/42/17/labels". A name consists of parts joined by
// slashes. A part consists of lower-case letters, digits and ._- and begins with a letter or digit. No name may be a
// directory of another ("a" next to "a/b").
//
// Bytes are verified before they are returned: reading a blob that was altered or truncated fails with the fault
// BLOB_DAMAGED. All methods may be called concurrently.
type Blobs interface {
	// Put stores what write writes. The blob is visible and durable when Put returns nil. If write fails or the name
	// is taken (ErrExists), nothing changes.
	Put(ctx context.Context, name string, write func(io.Writer) error) error

	// Open returns a reader of up to length bytes from offset; length -1 means to the end. It returns ErrNotFound if
	// there is no such blob. The caller closes the reader.
	Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)

	// Size returns the length of a blob in bytes, or ErrNotFound.
	Size(ctx context.Context, name string) (int64, error)

	// SignedURL returns a URL by which anyone can read a blob for a time, in the format of package seal. The URL is
	// empty if the blobs are not in an object store. It returns ErrNotFound if there is no such blob.
	SignedURL(ctx context.Context, name string, valid time.Duration) (string, error)

	// Delete removes a blob, or returns ErrNotFound. Its name must not be used again.
	Delete(ctx context.Context, name string) error

	// List returns the names that begin with prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)

	// Usage returns how many bytes all blobs take.
	Usage(ctx context.Context) (int64, error)

	// Free returns how many bytes are left for blobs. known is false if that cannot be determined.
	Free() (bytes int64, known bool)

	// RemoveTemporary deletes the temporary files of processes that ended while writing. Only the leader, which is the
	// only writer, may call it. It leaves alone what is written after the call begins.
	RemoveTemporary(ctx context.Context)

	// Close releases the store. Later calls return ErrClosed; open readers may fail.
	Close() error
}

const (
	maxNameLength = 512
	maxPartLength = 200 // leaves room for the suffix of a temporary file
	tempSuffix    = ".tmp"
)

var blobName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*$`)

// bucket keeps the objects that blobs are stored as: in a directory, in memory or in an object store. A missing object
// is ErrNotFound, and one that exists already ErrExists. All methods may be called concurrently.
type bucket interface {
	// create stores what write writes, visibly and durably when it returns nil. If write fails or panics, or the key
	// is taken, nothing changes.
	create(ctx context.Context, key string, write func(io.Writer) error) error

	// open returns a reader of up to length bytes from offset; length -1 means to the end.
	open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)

	size(ctx context.Context, key string) (int64, error)
	remove(ctx context.Context, key string) error

	// each calls visit with every object whose key begins with prefix, in any order. Some may not be blobs.
	each(ctx context.Context, prefix string, visit func(key string, bytes int64)) error

	// signedURL returns a URL by which anyone can read an object for a time, or "" if there is none.
	signedURL(ctx context.Context, key string, valid time.Duration) (string, error)

	free() (bytes int64, known bool)
	removeTemporary(ctx context.Context)

	// explain adds the name of a blob to an error, and classifies it as temporary or permanent.
	explain(name string, err error) error

	close() error
}

// sealedBlobs implements Blobs with a bucket. It stores blobs in the format of package seal.
type sealedBlobs struct {
	bucket bucket
	closed atomic.Bool
}

// key returns the key of a blob. It returns an error if the store is closed or the name is not valid.
func (b *sealedBlobs) key(name string) (string, error) {
	if b.closed.Load() {
		return "", ErrClosed
	}
	return name + seal.Suffix, checkName(name)
}

// OpenBlobs opens the blobs at a URL: mem://, file:///DIR or a plain directory, which is created if it does not
// exist. It also opens s3://BUCKET or gs://BUCKET if the program imports their drivers; the query may contain the
// options of gocloud.dev.
func OpenBlobs(ctx context.Context, where string) (Blobs, error) {
	bucket, err := openBucket(ctx, where)
	if err != nil {
		return nil, err
	}
	return &sealedBlobs{bucket: bucket}, nil
}

func openBucket(ctx context.Context, where string) (bucket, error) {
	if !strings.Contains(where, "://") {
		return openDirectory(where)
	}
	u, err := url.Parse(where)
	if err != nil {
		return nil, fault.Invalid("BLOBS_URL_INVALID", "the blob store %q is not a URL: %v", where, err)
	}
	switch u.Scheme {
	case "mem":
		return &memoryBucket{objects: map[string][]byte{}}, nil
	case "file":
		if u.Host != "" && u.Host != "localhost" || u.RawQuery != "" || u.Path == "" {
			return nil, fault.Invalid("BLOBS_URL_INVALID", "the blob store %q is not of the form file:///DIRECTORY",
				where)
		}
		return openDirectory(filepath.FromSlash(u.Path))
	}
	return openObjectStore(ctx, where, u)
}

// driverMissing returns the error about an object store that the program has no driver for.
func driverMissing(where string, u *url.URL) error {
	return fault.Invalid("BLOBS_SCHEME_UNSUPPORTED",
		"the blob store %q needs a driver for %s:// that this program was built without; "+
			"use a directory, file:///DIRECTORY, s3://BUCKET, gs://BUCKET or mem://", where, u.Scheme)
}

func (b *sealedBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	key, err := b.key(name)
	if err != nil {
		return err
	}
	// Avoid writing if the name is already taken; create checks again.
	if _, err := b.bucket.size(ctx, key); !errors.Is(err, ErrNotFound) {
		return b.bucket.explain(name, cmp.Or(err, ErrExists))
	}
	var failed error // of writing; explained if it is the bucket's, and otherwise the caller's
	err = b.bucket.create(ctx, key, func(w io.Writer) error {
		sealed := seal.NewWriter(name, &explainingWriter{w, b.bucket, name})
		if failed = write(sealed); failed == nil {
			failed = sealed.Finish()
		}
		return failed
	})
	if failed != nil {
		return failed
	}
	return b.bucket.explain(name, err)
}

// explainingWriter explains write errors, which reach the caller of Put through its write function.
type explainingWriter struct {
	io.Writer
	bucket bucket
	name   string
}

func (w *explainingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, w.bucket.explain(w.name, err)
}

func (b *sealedBlobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	key, err := b.key(name)
	if err != nil {
		return nil, err
	}
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("blob %q: cannot read %d bytes from offset %d", name, length, offset)
	}
	from, bytes := seal.Range(offset, length)
	r, err := b.bucket.open(ctx, key, from, bytes)
	if err != nil {
		return nil, b.bucket.explain(name, err)
	}
	return seal.NewReader(name, r, offset, length, b.bucket.explain), nil
}

func (b *sealedBlobs) Size(ctx context.Context, name string) (int64, error) {
	key, err := b.key(name)
	if err != nil {
		return 0, err
	}
	size, err := b.bucket.size(ctx, key)
	if err != nil {
		return 0, b.bucket.explain(name, err)
	}
	return seal.Size(name, size)
}

func (b *sealedBlobs) SignedURL(ctx context.Context, name string, valid time.Duration) (string, error) {
	key, err := b.key(name)
	if err != nil {
		return "", err
	}
	if _, err := b.bucket.size(ctx, key); err != nil {
		return "", b.bucket.explain(name, err)
	}
	signed, err := b.bucket.signedURL(ctx, key, valid)
	return signed, b.bucket.explain(name, err)
}

func (b *sealedBlobs) Delete(ctx context.Context, name string) error {
	key, err := b.key(name)
	if err != nil {
		return err
	}
	return b.bucket.explain(name, b.bucket.remove(ctx, key))
}

func (b *sealedBlobs) List(ctx context.Context, prefix string) ([]string, error) {
	if b.closed.Load() {
		return nil, ErrClosed
	}
	if prefix != "" {
		if err := checkName(strings.TrimSuffix(prefix, "/")); err != nil {
			return nil, err
		}
	}
	var names []string
	err := b.bucket.each(ctx, prefix, func(key string, _ int64) {
		// Objects without a valid name are temporary or foreign, not blobs. The prefix may contain a part of the
		// suffix.
		if name := strings.TrimSuffix(key, seal.Suffix); strings.HasPrefix(name, prefix) && checkName(name) == nil {
			names = append(names, name)
		}
	})
	if err != nil {
		return nil, b.bucket.explain(prefix, err)
	}
	slices.Sort(names)
	return names, nil
}

func (b *sealedBlobs) Usage(ctx context.Context) (total int64, err error) {
	err = b.bucket.each(ctx, "", func(_ string, bytes int64) { total += bytes })
	return total, b.bucket.explain("", err)
}

func (b *sealedBlobs) Free() (bytes int64, known bool) { return b.bucket.free() }

func (b *sealedBlobs) RemoveTemporary(ctx context.Context) { b.bucket.removeTemporary(ctx) }

func (b *sealedBlobs) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	return b.bucket.close()
}

// checkName rejects names that could leave the bucket, that differ between file systems and object stores, or that
// clash with temporary files.
func checkName(name string) error {
	ok := len(name) <= maxNameLength && blobName.MatchString(name)
	for part := range strings.SplitSeq(name, "/") {
		ok = ok && len(part) <= maxPartLength && !strings.HasSuffix(part, tempSuffix) &&
			!strings.HasSuffix(part, seal.Suffix)
	}
	if !ok {
		return fault.Invalid("BLOB_NAME_INVALID", "the blob name %.100q is not lower-case letters, digits and ._- "+
			"in parts joined by slashes, or is too long or ends in a reserved suffix", name)
	}
	return nil
}
