//go:build !small

package buckets

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/gcsblob" // gs://
	_ "gocloud.dev/blob/s3blob"  // s3://
)

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
		ofGCS.Scheme, ofGCS.QueryParameters = storage.SigningSchemeV4, url.Values{"generation": {version}}
	}
}

// answerOf returns what a store answered, or "" if err is not its answer.
func answerOf(err error) string {
	if said, is := errors.AsType[smithy.APIError](err); is {
		return strings.TrimSuffix(said.ErrorCode()+": "+said.ErrorMessage(), ": ")
	}
	return ""
}
