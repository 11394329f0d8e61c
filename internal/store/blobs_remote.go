package store

import (
	"context"
	"fmt"
	"net/url"

	"gocloud.dev/blob"
)

// openRemote opens the blobs in an object store, whose driver the program imports. Nothing is sent before the first call, so that a coordinator starts even
// if the object store does not answer. The drivers repeat requests that fail, for some seconds; what fails then is Unavailable.
func openRemote(ctx context.Context, where string, u *url.URL) (Blobs, error) {
	b, err := blob.OpenBucket(ctx, where)
	if err != nil {
		return nil, fmt.Errorf("cannot open the blob store %s: %w", u.Redacted(), err)
	}
	return &bucket{Bucket: b, explain: remoteError}, nil
}
