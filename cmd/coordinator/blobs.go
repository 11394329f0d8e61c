package main

// What --blobs may name beside directories. The other programs keep nothing in object stores, and are half as large without.
import (
	_ "gocloud.dev/blob/gcsblob" // gs://
	_ "gocloud.dev/blob/s3blob"  // s3://
)
