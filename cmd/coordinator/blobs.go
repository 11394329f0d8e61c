//go:build !small

package main

// The object stores that --blobs may name. The other programs need none, and are half as large without them.
import (
	_ "gocloud.dev/blob/gcsblob" // gs://
	_ "gocloud.dev/blob/s3blob"  // s3://
)
