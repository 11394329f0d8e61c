package store

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// Blobs stores large values under write-once names such as "jobs/42/17/labels". A name consists of parts joined by
// slashes. A part consists of lower-case letters, digits and ._- and begins with a letter or digit. No name may be a
// directory of another ("a" next to "a/b").
//
// Bytes are verified before they are returned: reading a blob that was altered or truncated fails with the fault
// BLOB_DAMAGED. Only blobs of versions without checksums are read unverified. All methods may be called concurrently.
type Blobs interface {
	// Put stores what write writes. The blob is visible and durable when Put returns nil. If write fails or the name
	// is taken (ErrExists), nothing changes.
	Put(ctx context.Context, name string, write func(io.Writer) error) error

	// Open returns a reader of up to length bytes from offset; length -1 means to the end. It returns ErrNotFound if
	// there is no such blob. The caller closes the reader.
	Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)

	// Size returns the length of a blob in bytes, or ErrNotFound.
	Size(ctx context.Context, name string) (int64, error)

	// SignedURL returns a URL by which anyone can read a blob for a time, as it is stored: sealed says that it has the
	// format of package seal. The URL is empty if the blobs are not in an object store. It returns ErrNotFound if there
	// is no such blob.
	SignedURL(ctx context.Context, name string, valid time.Duration) (url string, sealed bool, err error)

	// Delete removes a blob, or returns ErrNotFound. Its name must not be used again.
	Delete(ctx context.Context, name string) error

	// List returns the names that begin with prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)

	// Usage returns how many bytes all blobs take.
	Usage(ctx context.Context) (int64, error)

	// Free returns how many bytes are left for blobs. known is false if that cannot be determined.
	Free() (bytes int64, known bool)

	// RemoveTemporary deletes what processes left behind that ended while writing. Only a process that has just
	// become the leader, and is thus the only writer, may call it. It may write blobs at the same time; those are not
	// touched.
	RemoveTemporary(ctx context.Context)

	Close() error
}

const (
	maxNameLength = 512
	maxPartLength = 200 // leaves room for the suffix of a temporary file
	tempSuffix    = ".tmp"
	escapeMark    = "__" // gocloud writes __0x2f__ for a byte that a file name cannot have

	// These bounds limit how much written data is not yet known to be stored: two parts of an object, or syncBytes of
	// a file. They make it possible to tell a slow store from one that hangs.
	partBytes   = 8 << 20
	partsAtOnce = 2
	syncBytes   = 16 << 20
)

var blobName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*$`)

// bucket implements Blobs with a gocloud bucket.
type bucket struct {
	*blob.Bucket
	root   string // directory of a local bucket; empty for others
	remote bool   // it is in an object store

	// Adds the blob's name to an error, and classifies it as temporary or permanent.
	explain func(name string, err error) error

	// publishMu makes publishing a local blob atomic. gocloud's directory driver checks that a name is free and then
	// renames a file; the lock turns this and the sync of the directory into one step, so that a name that is taken
	// is durable.
	publishMu sync.Mutex
	// directories is held while a temporary file is created in a directory that may be new, and while empty
	// directories are removed.
	directories sync.Mutex
	// writing is the set of temporary files that this process is writing. It is guarded by directories.
	writing map[string]bool
}

// OpenBlobs opens the blobs at a URL: mem://, file:///DIR or a plain directory, which is created if it does not
// exist. It also opens s3://BUCKET or gs://BUCKET if the program imports their drivers; the query may contain the
// options of gocloud.dev.
func OpenBlobs(ctx context.Context, where string) (Blobs, error) {
	if !strings.Contains(where, "://") {
		return openDirectory(where)
	}
	u, err := url.Parse(where)
	if err != nil {
		return nil, fault.Invalid("BLOBS_URL_INVALID", "the blob store %q is not a URL: %v", where, err)
	}
	switch {
	case u.Scheme == memblob.Scheme:
		return &bucket{Bucket: memblob.OpenBucket(nil), explain: blobError}, nil
	case u.Scheme == fileblob.Scheme:
		if u.Host != "" && u.Host != "localhost" || u.RawQuery != "" || u.Path == "" {
			return nil, fault.Invalid("BLOBS_URL_INVALID", "the blob store %q is not of the form file:///DIRECTORY", where)
		}
		return openDirectory(filepath.FromSlash(u.Path))
	case !blob.DefaultURLMux().ValidBucketScheme(u.Scheme):
		return nil, fault.Invalid("BLOBS_SCHEME_UNSUPPORTED",
			"the blob store %q needs a driver for %s:// that this program was built without; "+
				"use a directory, file:///DIRECTORY, s3://BUCKET, gs://BUCKET or mem://", where, u.Scheme)
	}
	return openRemote(ctx, where, u)
}

func (b *bucket) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	if err := checkName(name); err != nil {
		return err
	}
	// Avoid writing if the name is already taken; publish checks again.
	for _, key := range []string{name + seal.Suffix, name} {
		if taken, err := b.Exists(ctx, key); err != nil {
			return b.explain(name, err)
		} else if taken {
			return fmt.Errorf("blob %q: %w", name, ErrExists)
		}
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File    // temporary file of a local bucket, synced before it is renamed
	b.directories.Lock() // held only briefly: nothing is written yet
	w, err := b.NewWriter(ctx, name+seal.Suffix, &blob.WriterOptions{
		IfNotExist: true,
		// Without a type, gocloud would buffer the first bytes to guess it.
		ContentType:    "application/octet-stream",
		BufferSize:     partBytes,
		MaxConcurrency: partsAtOnce,
		BeforeWrite:    func(as func(any) bool) error { as(&file); return nil },
	})
	if file != nil {
		b.writing[file.Name()] = true
	}
	b.directories.Unlock()
	if err != nil {
		return b.explain(name, err)
	}
	published := false
	defer func() {
		if file != nil {
			b.directories.Lock()
			delete(b.writing, file.Name())
			b.directories.Unlock()
		}
	}()
	defer func() {
		if !published { // also if write panics
			cancel() // makes Close discard what was written
			_ = w.Close()
			b.removeEmpty(b.directoryOf(name))
		}
	}()

	sealed := seal.NewWriter(name, &blobWriter{Writer: w, bucket: b, name: name, file: file})
	if err := write(sealed); err != nil {
		return err
	}
	if err := sealed.Finish(); err != nil {
		return err
	}
	if file != nil {
		if err := file.Sync(); err != nil {
			return b.explain(name, err)
		}
	}
	published = true
	return b.publish(name, w)
}

// blobWriter explains write errors, which reach the caller of Put through its write function, and syncs a file from
// time to time, because syncing everything at the end may take minutes.
type blobWriter struct {
	io.Writer
	bucket   *bucket
	name     string
	file     *os.File // nil unless the bucket is local
	unsynced int
}

func (w *blobWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.unsynced += n; err == nil && w.file != nil && w.unsynced >= syncBytes {
		w.unsynced, err = 0, w.file.Sync()
	}
	return n, w.bucket.explain(w.name, err)
}

// publish makes a written blob visible under its name, durably if the bucket is local.
func (b *bucket) publish(name string, w *blob.Writer) error {
	if b.root != "" {
		b.publishMu.Lock()
		defer b.publishMu.Unlock()
	}
	if err := w.Close(); gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return fmt.Errorf("blob %q: %w", name, ErrExists)
	} else if err != nil {
		return b.explain(name, err)
	}
	if b.root == "" {
		return nil
	}
	return b.explain(name, syncDirectories(filepath.Join(b.root, filepath.FromSlash(name+seal.Suffix)), b.root))
}

func (b *bucket) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("blob %q: cannot read %d bytes from offset %d", name, length, offset)
	}
	from, bytes := seal.Range(offset, length)
	r, err := b.NewRangeReader(ctx, name+seal.Suffix, from, bytes, nil)
	if err == nil {
		return seal.NewReader(name, r, offset, length, b.explain), nil
	}
	if gcerrors.Code(err) == gcerrors.NotFound { // an earlier version may have written it
		r, err = b.NewRangeReader(ctx, name, offset, length, nil)
	}
	if err != nil {
		return nil, b.explain(name, err)
	}
	return r, nil
}

func (b *bucket) Size(ctx context.Context, name string) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	sealed, err := b.Attributes(ctx, name+seal.Suffix)
	if err == nil {
		return seal.Size(name, sealed.Size)
	}
	if gcerrors.Code(err) != gcerrors.NotFound {
		return 0, b.explain(name, err)
	}
	plain, err := b.Attributes(ctx, name) // an earlier version may have written it
	if err != nil {
		return 0, b.explain(name, err)
	}
	return plain.Size, nil
}

func (b *bucket) SignedURL(ctx context.Context, name string, valid time.Duration) (string, bool, error) {
	if err := checkName(name); err != nil {
		return "", false, err
	}
	if !b.remote {
		return "", false, nil
	}
	for _, key := range []string{name + seal.Suffix, name} {
		there, err := b.Exists(ctx, key)
		if err != nil {
			return "", false, b.explain(name, err)
		}
		if !there {
			continue
		}
		signed, err := b.Bucket.SignedURL(ctx, key, &blob.SignedURLOptions{Expiry: valid})
		if gcerrors.Code(err) == gcerrors.Unimplemented { // there is no key to sign with
			return "", false, nil
		}
		return signed, key != name, b.explain(name, err)
	}
	return "", false, fmt.Errorf("blob %q: %w", name, ErrNotFound)
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	err := b.Bucket.Delete(ctx, name+seal.Suffix)
	if gcerrors.Code(err) == gcerrors.NotFound {
		err = b.Bucket.Delete(ctx, name)
	}
	if err == nil {
		b.removeEmpty(b.directoryOf(name))
	}
	return b.explain(name, err)
}

func (b *bucket) List(ctx context.Context, prefix string) ([]string, error) {
	if prefix != "" {
		if err := checkName(strings.TrimSuffix(prefix, "/")); err != nil {
			return nil, err
		}
	}
	if b.root != "" {
		names, err := listDirectory(ctx, b.root, prefix)
		return names, b.explain(prefix, err)
	}
	var names []string
	objects := b.Bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := objects.Next(ctx)
		if err == io.EOF {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, b.explain(prefix, err)
		}
		progressed(ctx)
		if name := strings.TrimSuffix(object.Key, seal.Suffix); strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
}

// checkName rejects names that could leave the bucket, that differ between file systems and object stores, or that
// clash with files of the driver.
func checkName(name string) error {
	ok := len(name) <= maxNameLength && blobName.MatchString(name) && !strings.Contains(name, escapeMark)
	for part := range strings.SplitSeq(name, "/") {
		ok = ok && len(part) <= maxPartLength &&
			!strings.HasSuffix(part, tempSuffix) && !strings.HasSuffix(part, ".attrs") && !strings.HasSuffix(part, seal.Suffix)
	}
	if !ok {
		return fault.Invalid("BLOB_NAME_INVALID", "the blob name %.100q is not lower-case letters, digits and ._- "+
			"in parts joined by slashes, or is too long, holds __ or ends in a reserved suffix", name)
	}
	return nil
}
