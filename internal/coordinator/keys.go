package coordinator

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/cleave-project/cleave/internal/fault"
)

// The keys of the state:
//
//	datasets/<sha256>             DatasetRecord
//	tables/<sha256>               TableRecord
//	jobs/<id, digits inverted>    JobRecord; the newest comes first
//	unfinished/<id>               empty: this job has not ended; the oldest comes first
//	requests/<request id>         RequestRecord
//	events/<id>/<first sequence>  EventBatch
//	garbage/<prefix of blobs>     empty: these blobs are no longer needed
//
// and the blobs:
//
//	datasets/<sha256>/<uuid>      canonical bytes
//	tables/<sha256>/<uuid>        canonical bytes
//	jobs/<id>/spec                JobSpec
//	jobs/<id>/<term>/outcome      Outcome
//	jobs/<id>/<term>/labels       int32, little-endian
//	jobs/<id>/<term>/model        float64, little-endian
//	jobs/<id>/<term>/embedding    float64, little-endian
//
// The name of a blob is never used twice: a data set that is deleted and uploaded again gets another blob,
// so that a late deletion of the first cannot remove the second.
const (
	datasetPrefix    = "datasets/"
	tablePrefix      = "tables/"
	jobPrefix        = "jobs/"
	unfinishedPrefix = "unfinished/"
	requestPrefix    = "requests/"
	eventPrefix      = "events/"
	garbagePrefix    = "garbage/"
)

func datasetKey(id string) string      { return datasetPrefix + id }
func tableKey(id string) string        { return tablePrefix + id }
func unfinishedKey(id string) string   { return unfinishedPrefix + id }
func garbageKey(blobs string) string   { return garbagePrefix + blobs }
func requestKey(request string) string { return requestPrefix + request }
func eventsPrefix(id string) string    { return eventPrefix + id + "/" }

func eventKey(id string, first uint64) string { return fmt.Sprintf("%s%020d", eventsPrefix(id), first) }

// jobKey inverts the hexadecimal digits of an id. Ids grow with time, so that the newest job has the
// smallest key.
func jobKey(id string) string {
	const digits = "0123456789abcdef"
	inverted := func(r rune) rune {
		if at := strings.IndexRune(digits, r); at >= 0 {
			return rune(digits[len(digits)-1-at])
		}
		return r
	}
	return jobPrefix + strings.Map(inverted, id)
}

func datasetBlob(id string) string   { return datasetPrefix + id + "/" + uuid.NewString() }
func tableBlob(id string) string     { return tablePrefix + id + "/" + uuid.NewString() }
func jobBlobPrefix(id string) string { return jobPrefix + id + "/" }
func specBlob(id string) string      { return jobBlobPrefix(id) + "spec" }

func outcomeBlob(id string, term int64) string {
	return fmt.Sprintf("%s%d/outcome", jobBlobPrefix(id), term)
}
func labelsBlob(id string, term int64) string {
	return fmt.Sprintf("%s%d/labels", jobBlobPrefix(id), term)
}
func modelBlob(id string, term int64) string {
	return fmt.Sprintf("%s%d/model", jobBlobPrefix(id), term)
}
func embeddingBlob(id string, term int64) string {
	return fmt.Sprintf("%s%d/embedding", jobBlobPrefix(id), term)
}

// newJobID is a UUID of version 7, which sorts by time.
func newJobID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// required refuses an empty identifier in a request.
func required(field, value string) error {
	if value == "" {
		return fault.Invalid("FIELD_REQUIRED", "%s is empty; say which one you mean", field).OnField(field)
	}
	return nil
}

const (
	defaultPageSize = 100
	maxPageSize     = 1000
)

func pageSize(requested int32) (int, error) {
	switch {
	case requested < 0:
		return 0, fault.Invalid("INVALID_PAGE_SIZE", "page_size is %d; it must not be negative", requested).OnField("page_size")
	case requested == 0:
		return defaultPageSize, nil
	}
	return min(int(requested), maxPageSize), nil
}

// pageToken makes a token of the last key that a page has covered.
func pageToken(lastKey string) string { return base64.RawURLEncoding.EncodeToString([]byte(lastKey)) }

// pageStart is the key after which the page of a token starts.
func pageStart(token, prefix string) (after string, err error) {
	if token == "" {
		return "", nil
	}
	key, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || !strings.HasPrefix(string(key), prefix) {
		return "", fault.Invalid("INVALID_PAGE_TOKEN", "page_token is not one that this list gave; start again without one").
			OnField("page_token")
	}
	return string(key), nil
}
