// Package buckets asks object stores about objects, and signs the URLs by which others read them.
package buckets

import (
	"time"

	"github.com/cleave-project/cleave/internal/fault"
)

// Object is one version of an object.
type Object struct {
	URI      string
	Bytes    int64
	ETag     string
	Version  string // the version ID (s3) or generation (gs); "" if the bucket keeps no versions
	Modified time.Time
}

// MaxObjects limits how many objects a table may consist of.
const MaxObjects = 5_000

// TooMany returns the error about more than MaxObjects objects.
func TooMany() error {
	return fault.New(fault.ResourceExhausted, "TOO_MANY_OBJECTS",
		"the URIs name more than %d objects, the largest number supported; name fewer, or write larger objects",
		MaxObjects).OnField("uris")
}
