package store

import (
	"context"
	"fmt"
	"net/url"

	"gocloud.dev/blob"
)

// openRemote opens the blobs in an object store whose driver the program imports. It sends nothing, so that a
// coordinator starts even if the object store is down. The drivers retry failed requests for some seconds; after
// that, errors are fault.Unavailable.
func openRemote(ctx context.Context, where string, u *url.URL) (Blobs, error) {
	b, err := blob.OpenBucket(ctx, where)
	if err != nil {
		return nil, fmt.Errorf("cannot open the blob store %s: %w", u.Redacted(), err)
	}
	return &bucket{Bucket: b, remote: true, explain: remoteError}, nil
}
