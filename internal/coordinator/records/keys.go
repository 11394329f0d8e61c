// Package records defines how the coordinator stores its state: the names of keys and blobs, the writer that makes
// transactions durable, and the errors that name a stored object that is damaged or missing. It also deletes what
// nothing refers to (garbage.go) and what has expired (retention.go), and makes sure that the blobs are of this cluster
// (ownership.go).
package records

import (
	"cmp"
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
//	sources/<sha256>/<owner>      Claim with only the objects that this owner imported the table from
//	jobs/<id, digits inverted>    JobRecord; the newest comes first
//	owners/<owner>/<id, digits inverted>  empty: a job of this owner; none of the owner without a name
//	unfinished/<id>               empty: this job has not ended; the oldest comes first
//	requests/<owner>/<request id> RequestRecord; without <owner>/ where the owner has no name
//	imports/<owner>/<request id>  ImportRecord; deleted after a day
//	events/<id>/<first sequence>  EventBatch
//	webhooks/<id>                 WebhookRecord: the end of this job is yet to be notified
//	garbage/<prefix of blobs>     empty: these blobs are no longer needed, or are being uploaded and have no record
//	                              yet
//	created                       Layout: a coordinator has used this state; a durable one has it before it has blobs
//	identity                      the ID of the cluster, see BlobsOwnership
//
// and the blobs:
//
//	identity                      which cluster the blobs belong to, see BlobsOwnership
//	datasets/<sha256>/<uuid>      canonical bytes
//	tables/<sha256>/<uuid>        canonical bytes
//	jobs/<id>/spec                JobSpec
//	jobs/<id>/snapshots/<term>.<number>  see package snapshot; of an unfinished job
//	jobs/<id>/<try>/outcome       Outcome
//	jobs/<id>/<try>/labels        int32, little-endian
//	jobs/<id>/<try>/klabels       int32, little-endian: the labels of every k of a range, in ascending order of k
//	jobs/<id>/<try>/rows          float64, little-endian: scores of the rows
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
	JobPrefix        = "jobs/" // of keys and of blobs
	UnfinishedPrefix = "unfinished/"
	requestPrefix    = "requests/"
	ImportPrefix     = "imports/"
	EventPrefix      = "events/"
	GarbagePrefix    = "garbage/"
	CreatedKey       = "created"
	IdentityKey      = "identity"
	IdentityBlob     = "identity"
	WebhookPrefix    = "webhooks/"
	ownersPrefix     = "owners/"
	DatasetPrefix    = "datasets/"
	TablePrefix      = "tables/"
	sourcesPrefix    = "sources/"

	specPart = "spec"
)

// Layout is the version of the state's layout, the value of CreatedKey. A state of another layout is refused.
const Layout = "3"

// CheckLayout refuses a state of another layout, given its value of CreatedKey: this version would lose what it does
// not know.
func CheckLayout(created []byte) error {
	if string(created) == Layout {
		return nil
	}
	return fault.New(fault.FailedPrecondition, "OTHER_LAYOUT",
		"the state was written by another version of Cleave: its layout is %.20q, but this version knows only layout "+
			"%s; run the version that wrote it, or restore a backup that this version made", created, Layout)
}

// UnfinishedKey returns the key that exists as long as a job has not ended.
func UnfinishedKey(id string) string { return UnfinishedPrefix + id }

// GarbageKey returns the key that marks a blob, or all blobs with a prefix, for deletion.
func GarbageKey(blobs string) string { return GarbagePrefix + blobs }

// WebhookKey returns the key of the notification about a job that has ended.
func WebhookKey(id string) string { return WebhookPrefix + id }

// EventsPrefix returns the prefix of the keys of a job's events.
func EventsPrefix(id string) string { return EventPrefix + id + "/" }

// RequestKey returns the key of a request. Owners have separate key spaces, so they do not see each other's requests.
func RequestKey(owner, request string) string {
	request = url.PathEscape(request)
	if owner != "" {
		request = url.PathEscape(owner) + "/" + request
	}
	return requestPrefix + request
}

// SourcesKey returns the key of the objects that an owner imported a table from. A record has room for those of a few
// owners only.
func SourcesKey(table, owner string) string {
	return sourcesPrefix + table + "/" + url.PathEscape(owner)
}

// ImportKey returns the key of an import.
func ImportKey(owner, request string) string {
	return ImportPrefix + url.PathEscape(owner) + "/" + url.PathEscape(request)
}

// OwnerKey returns the key of a job in the index of its owner. The order of these keys is that of JobKey.
func OwnerKey(owner, id string) string {
	return ownersPrefix + url.PathEscape(owner) + "/" + strings.TrimPrefix(JobKey(id), JobPrefix)
}

// JobOfKey returns the id in the key of a job, or in its key in the index of its owner.
func JobOfKey(key string) string {
	return strings.TrimPrefix(JobKey(key[strings.LastIndex(key, "/")+1:]), JobPrefix) // inverted twice
}

// EventKey returns the key of the batch of events that begins with the given sequence number.
func EventKey(id string, first uint32) string { return fmt.Sprintf("%s%020d", EventsPrefix(id), first) }

// JobKey returns the key of a job's record. It inverts the hexadecimal digits of the id: ids grow with time, so the
// newest job has the smallest key and is listed first. The beginning of an id gives the beginning of its key.
func JobKey(id string) string {
	const digits = "0123456789abcdef"
	inverted := func(r rune) rune {
		if at := strings.IndexRune(digits, r); at >= 0 {
			return rune(digits[len(digits)-1-at])
		}
		return r
	}
	return JobPrefix + strings.Map(inverted, id)
}

// NewBlob returns a name for a blob of the given record that was never used before.
func NewBlob(key string) string { return key + "/" + uuid.NewString() }

// OwnerOfBlob returns the ID of the data set, table or job that a blob belongs to, and the prefix that its blobs share.
// Both are empty for IdentityBlob.
func OwnerOfBlob(blob string) (id, prefix string) {
	parts := strings.SplitN(blob, "/", 3)
	if len(parts) < 3 {
		return "", ""
	}
	return parts[1], parts[0] + "/" + parts[1] + "/"
}

// JobBlobPrefix returns the prefix of the names of all blobs of a job.
func JobBlobPrefix(id string) string { return JobPrefix + id + "/" }

// SpecBlob returns the name of the blob with a job's spec.
func SpecBlob(id string) string { return JobBlobPrefix(id) + specPart }

// JobOfSpec returns the job whose spec is in a blob, or "" if the blob holds something else.
func JobOfSpec(blob string) string {
	id, isSpec := strings.CutSuffix(strings.TrimPrefix(blob, JobPrefix), "/"+specPart)
	if !isSpec || strings.Contains(id, "/") {
		return ""
	}
	return id
}

// SnapshotPrefix returns the prefix of the names of a job's snapshots.
func SnapshotPrefix(id string) string { return JobBlobPrefix(id) + "snapshots/" }

// SnapshotBlob returns the name of a snapshot. Later terms have larger numbers.
func SnapshotBlob(id string, term int64, number int) string {
	return fmt.Sprintf("%s%d.%d", SnapshotPrefix(id), term, number)
}

// CompareSnapshots orders the names of the snapshots of a job from oldest to newest.
func CompareSnapshots(a, b string) int {
	age := func(name string) (term, number int64) {
		_, _ = fmt.Sscanf(name[strings.LastIndex(name, "/")+1:], "%d.%d", &term, &number)
		return term, number
	}
	termA, numberA := age(a)
	termB, numberB := age(b)
	return cmp.Or(cmp.Compare(termA, termB), cmp.Compare(numberA, numberB))
}

// EndPrefix returns the prefix of the names of the blobs of a job's result that are stored in a term.
func EndPrefix(id string, term int64) string { return fmt.Sprintf("%s%d.", JobBlobPrefix(id), term) }

// EndBlob returns the name of a blob of a job's result. No two attempts to store the result use the same names.
func EndBlob(id string, term int64, attempt int, what string) string {
	return fmt.Sprintf("%s%d/%s", EndPrefix(id, term), attempt, what)
}

// NewJobID returns a UUID of version 7, which sorts by time.
func NewJobID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}
