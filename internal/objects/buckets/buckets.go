package buckets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/gcsblob" // gs://, also for --blobs of the coordinator
	_ "gocloud.dev/blob/s3blob"  // s3://, likewise
	"gocloud.dev/gcerrors"
	"golang.org/x/sync/errgroup"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/objects"
)

const (
	// maxListed limits how many keys are compared with a pattern.
	maxListed = 1_000_000
	// askedAtOnce is how many objects are asked about at the same time.
	askedAtOnce = 16
	// expiry is how long a signed URL is valid. Reading a few megabytes takes far less.
	expiry = time.Hour
)

// Set is the buckets that were opened. It is safe for concurrent use.
type Set struct {
	mu   sync.Mutex
	open map[string]*blob.Bucket // by URL
}

// NewSet returns a set without buckets.
func NewSet() *Set { return &Set{open: map[string]*blob.Bucket{}} }

// Close closes all buckets.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, bucket := range s.open {
		_ = bucket.Close()
	}
	clear(s.open)
}

// bucket opens the bucket of a URI as a rule says. It sends nothing.
func (s *Set) bucket(ctx context.Context, r objects.Rule, u objects.URI) (*blob.Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address := r.Address(u)
	if bucket := s.open[address]; bucket != nil {
		return bucket, nil
	}
	bucket, err := blob.OpenBucket(context.WithoutCancel(ctx), address)
	if err != nil {
		return nil, fault.New(fault.FailedPrecondition, "STORE_NOT_CONFIGURED",
			"the object store of %s cannot be opened: %s; check its options in --import-allow, the region and the "+
				"credentials", u, causeOf(err))
	}
	s.open[address] = bucket
	return bucket, nil
}

// Find returns the objects that a URI names, sorted by name, in their current versions.
func (s *Set) Find(ctx context.Context, r objects.Rule, u objects.URI) ([]Object, error) {
	bucket, err := s.bucket(ctx, r, u)
	if err != nil {
		return nil, err
	}
	keys := []string{u.Key}
	if !u.IsOne() {
		if keys, err = list(ctx, bucket, u); err != nil {
			return nil, err
		}
	}
	found := make([]Object, len(keys))
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(askedAtOnce)
	for at, key := range keys {
		asking.Go(func() (err error) {
			one := u
			one.Key = key
			found[at], err = describe(ctx, bucket, one)
			return err
		})
	}
	return found, asking.Wait()
}

// list returns the keys that a URI names.
func list(ctx context.Context, bucket *blob.Bucket, u objects.URI) ([]string, error) {
	options := &blob.ListOptions{Prefix: u.Beginning()}
	if u.IsFlat() {
		options.Delimiter = "/"
	}
	var keys []string
	all := bucket.List(options)
	for listed := 0; ; listed++ {
		object, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, explain(u, err)
		}
		if listed == maxListed {
			return nil, fault.New(fault.ResourceExhausted, "TOO_MANY_OBJECTS",
				"more than %d objects begin with %s; name fewer", maxListed,
				objects.URI{Scheme: u.Scheme, Bucket: u.Bucket, Key: u.Beginning()})
		}
		if !object.IsDir && u.Names(object.Key) {
			keys = append(keys, object.Key)
		}
		if len(keys) > MaxObjects {
			return nil, TooMany()
		}
	}
	if len(keys) == 0 {
		return nil, fault.New(fault.NotFound, "NO_OBJECTS", "no object matches %s", u).OnField("uris").
			With("uri", u.String())
	}
	slices.Sort(keys)
	return keys, nil
}

// describe returns the current version of an object.
func describe(ctx context.Context, bucket *blob.Bucket, u objects.URI) (Object, error) {
	found, err := bucket.Attributes(ctx, u.Key)
	if err != nil {
		return Object{}, explain(u, err)
	}
	return Object{URI: u.String(), Bytes: found.Size, ETag: found.ETag, Version: versionOf(found),
		Modified: found.ModTime}, nil
}

// Sign returns a URL by which a version of an object can be read for a while, without credentials. The URL names the
// version if there is one. etag is what the object must have if it does not.
func (s *Set) Sign(ctx context.Context, r objects.Rule, o Object) (signed, etag string, err error) {
	u, err := objects.Parse(o.URI)
	if err != nil {
		return "", "", err
	}
	bucket, err := s.bucket(ctx, r, u)
	if err != nil {
		return "", "", err
	}
	signed, err = bucket.SignedURL(ctx, u.Key, &blob.SignedURLOptions{Expiry: expiry, Method: http.MethodGet,
		BeforeSign: func(as func(any) bool) error {
			if o.Version != "" {
				selectVersion(as, o.Version)
			}
			return nil
		}})
	if gcerrors.Code(err) == gcerrors.Unimplemented {
		return "", "", fault.New(fault.FailedPrecondition, "CANNOT_SIGN",
			"the credentials for %s cannot sign URLs, by which workers read objects; use those of a service account "+
				"(GOOGLE_APPLICATION_CREDENTIALS)", u)
	}
	if err != nil {
		return "", "", explain(u, err)
	}
	if u.Scheme == "s3" { // the ETags of GCS differ between its APIs, and its objects always have versions
		etag = o.ETag
	}
	return signed, etag, nil
}

// explain turns an error of a store into one that says what to do.
func explain(u objects.URI, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch code := gcerrors.Code(err); {
	case code == gcerrors.NotFound:
		return fault.New(fault.NotFound, "NO_OBJECTS", "there is no object %s", u).OnField("uris").
			With("uri", u.String())
	case code == gcerrors.PermissionDenied, strings.Contains(err.Error(), "StatusCode: 403"):
		return fault.New(fault.PermissionDenied, "OBJECT_DENIED",
			"the object store denies access to %s (%s); its owner can allow it to the credentials of the coordinator",
			u, causeOf(err)).With("uri", u.String())
	}
	return fault.New(fault.FailedPrecondition, "STORE_FAILED",
		"the object store does not answer about %s: %s; check its address, its region and the credentials", u,
		causeOf(err)).With("uri", u.String())
}

// causeOf returns the part of an error that says what happened: what the network or the store said, or else the
// innermost error.
func causeOf(err error) string {
	if network, is := errors.AsType[*net.OpError](err); is {
		return network.Error()
	}
	if answer := answerOf(err); answer != "" {
		return answer
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Sprintf("%.300s", strings.Join(strings.Fields(err.Error()), " "))
}

// versionOf returns the version of an object, or "" if its bucket keeps none.
func versionOf(object *blob.Attributes) string {
	var ofS3 s3.HeadObjectOutput
	var ofGCS storage.ObjectAttrs
	switch {
	case object.As(&ofS3) && ofS3.VersionId != nil && *ofS3.VersionId != "null":
		return *ofS3.VersionId
	case object.As(&ofGCS):
		return strconv.FormatInt(ofGCS.Generation, 10)
	}
	return ""
}

// selectVersion makes a request that is about to be signed ask for a version.
func selectVersion(as func(any) bool, version string) {
	var ofS3 *s3.GetObjectInput
	var ofGCS *storage.SignedURLOptions
	switch {
	case as(&ofS3):
		ofS3.VersionId = &version
	case as(&ofGCS):
		ofGCS.Scheme = storage.SigningSchemeV4
		ofGCS.QueryParameters = url.Values{"generation": {version}}
	}
}

// answerOf returns what a store answered, or "" if err is not its answer.
func answerOf(err error) string {
	if said, is := errors.AsType[smithy.APIError](err); is {
		return strings.TrimSuffix(said.ErrorCode()+": "+said.ErrorMessage(), ": ")
	}
	return ""
}
