package main

import (
	"testing"

	"gocloud.dev/blob"
)

func TestTheCoordinatorHasDriversOfObjectStores(t *testing.T) {
	for _, scheme := range []string{"s3", "gs"} {
		if !blob.DefaultURLMux().ValidBucketScheme(scheme) {
			t.Errorf("there is no driver for %s://", scheme)
		}
	}
}
