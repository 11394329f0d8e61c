package coordinator

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/cleave-project/cleave/internal/fault"
)

// The keys of the state:
//
//	datasets/<sha256>             ContentRecord
//	tables/<sha256>               ContentRecord
//	jobs/<id, digits inverted>    JobRecord; the newest comes first
//	unfinished/<id>               empty: this job has not ended; the oldest comes first
//	requests/<owner>/<request id> RequestRecord; without <owner>/ where the owner has no name
//	events/<id>/<first sequence>  EventBatch
//	garbage/<prefix of blobs>     empty: these blobs are no longer needed
//	created                       empty: a coordinator has used this state; a durable one has it before it has blobs
//
// and the blobs:
//
//	datasets/<sha256>/<uuid>      canonical bytes
//	tables/<sha256>/<uuid>        canonical bytes
//	jobs/<id>/spec                JobSpec
//	jobs/<id>/snapshots/<term>.<number>  see package snapshot; of an unfinished job
//	jobs/<id>/<try>/outcome       Outcome
//	jobs/<id>/<try>/labels        int32, little-endian
//	jobs/<id>/<try>/model         float64, little-endian
//	jobs/<id>/<try>/embedding     float64, little-endian
//	jobs/<id>/<try>/neighbors     canonical bytes of the graph of neighbors
//	jobs/<id>/<try>/tablerows     canonical bytes of a table: which rows of a table points are, and their ids
//
// where <try> is the coordinator's term and the number of its attempt to store them.
//
// The name of a blob is never used twice: a data set that is deleted and uploaded again gets another blob,
// so that a late deletion of the first cannot remove the second.
const (
	jobPrefix        = "jobs/"
	unfinishedPrefix = "unfinished/"
	requestPrefix    = "requests/"
	eventPrefix      = "events/"
	garbagePrefix    = "garbage/"
	createdKey       = "created"
)

func unfinishedKey(id string) string { return unfinishedPrefix + id }
func garbageKey(blobs string) string { return garbagePrefix + blobs }
func eventsPrefix(id string) string  { return eventPrefix + id + "/" }

// requestKey is the key of a request of an owner: owners do not see each other's.
func requestKey(owner, request string) string {
	request = url.PathEscape(request)
	if owner != "" {
		request = url.PathEscape(owner) + "/" + request
	}
	return requestPrefix + request
}

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

func newBlob(key string) string      { return key + "/" + uuid.NewString() }
func jobBlobPrefix(id string) string { return jobPrefix + id + "/" }
func specBlob(id string) string      { return jobBlobPrefix(id) + "spec" }

// endBlob is the name of a blob of a job's end. No two attempts to store the end have the same names.
func endBlob(id string, term int64, attempt int, what string) string {
	return fmt.Sprintf("%s%d.%d/%s", jobBlobPrefix(id), term, attempt, what)
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
