package records

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// RecordDamaged is the reason of errors about stored records that cannot be decoded.
const RecordDamaged = "RECORD_DAMAGED"

// SpecDamaged is the reason of an error that means that the spec of a job is damaged.
const SpecDamaged = "SPEC_DAMAGED"

// damagedRecord returns the error for the record of a key that is not what was stored; why says how that was noticed.
func damagedRecord(key string, why error) error {
	return fault.New(fault.DataLoss, RecordDamaged, "the record %s is damaged: %v; restore the state from a backup",
		key, why).Because(why)
}

// IsDamaged reports whether err means that a stored record differs from what was written.
func IsDamaged(err error) bool {
	return fault.Is(err, RecordDamaged) || fault.Is(err, store.ValueDamaged)
}

// Decode decodes the value of an entry, a message. IsDamaged recognizes its errors.
func Decode[M any, P interface {
	*M
	proto.Message
}](entry store.Entry) (P, error) {
	if entry.Damage != nil {
		return nil, entry.Damage
	}
	record := P(new(M))
	if err := proto.Unmarshal(entry.Value, record); err != nil {
		return nil, damagedRecord(entry.Key, err)
	}
	return record, nil
}

// Object describes something that is stored, so that errors can name it when it is damaged or missing.
type Object struct {
	Reason  string // of the fault
	What    string // for people: "the labels of job 42"
	Key, ID string // for programs: "job_id", "42"
	Remedy  string // what to do
}

// JobPart describes a stored part of a job, such as PartSpec or PartLabels.
func JobPart(part, job string) Object {
	o := Object{
		Reason: "RESULT_DAMAGED", What: fmt.Sprintf("the stored %s of job %s", part, job), Key: "job_id", ID: job,
		Remedy: "restore the blob from a backup, or run the job again",
	}
	if part == PartSpec {
		o.Reason = SpecDamaged
	}
	return o
}

// The parts of a job, as they are named in messages.
const (
	PartSpec          = "spec"
	PartOutcome       = "outcome"
	PartLabels        = "labels"
	PartModel         = "model"
	PartEmbedding     = "embedding"
	PartRowScores     = "scores of the rows"
	PartNeighborGraph = "graph of neighbors"
	PartRows          = "rows of the table"
)

// Damaged returns the error for an object that is not what was stored; why says how that was noticed.
func (o Object) Damaged(why error) error {
	return fault.New(fault.DataLoss, o.Reason, "%s cannot be used: %v; %s", o.What, why, o.Remedy).With(o.Key,
		o.ID).Because(why)
}

// Explain replaces the error of a read by one that names the object, if it is damaged or missing.
func (o Object) Explain(err error) error {
	if fault.Is(err, store.BlobDamaged) || errors.Is(err, store.ErrNotFound) {
		return o.Damaged(err)
	}
	return err
}

// Reader returns a reader that names the object in its errors.
func (o Object) Reader(r io.ReadCloser) io.ReadCloser { return objectReader{r, o} }

// HashedReader returns a reader of the whole object that checks at the end that its SHA-256 is the given one, in
// hexadecimal.
func (o Object) HashedReader(r io.ReadCloser, want string) io.ReadCloser {
	return &hashedReader{objectReader: objectReader{r, o}, hash: sha256.New(), want: want}
}

// DecodeObject decodes an object from its reader. What cannot be decoded is damaged, unless r cannot be read to its
// end, where a hash is checked: decode does not tell one from the other, and r repeats its error.
func DecodeObject[T any](o Object, r io.Reader, decode func(io.Reader) (T, error)) (T, error) {
	value, err := decode(r)
	if _, readErr := io.Copy(io.Discard, r); readErr != nil {
		return value, readErr
	}
	if err != nil {
		err = o.Damaged(err)
	}
	return value, err
}

type objectReader struct {
	io.ReadCloser
	object Object
}

func (r objectReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	return n, r.object.Explain(err)
}

type hashedReader struct {
	objectReader
	hash hash.Hash
	want string
}

func (r *hashedReader) Read(p []byte) (int, error) {
	n, err := r.objectReader.Read(p)
	r.hash.Write(p[:n])
	if err == io.EOF {
		if got := hex.EncodeToString(r.hash.Sum(nil)); got != r.want {
			err = r.object.Damaged(fmt.Errorf("its SHA-256 is %s", got))
		}
	}
	return n, err
}

// ReadJob decodes the record of a job. IsDamaged recognizes its errors.
func ReadJob(entry store.Entry) (*statev1.JobRecord, error) {
	record, err := Decode[statev1.JobRecord](entry)
	if err != nil {
		return nil, err
	}
	if id := record.GetJob().GetJobId(); JobKey(id) != entry.Key {
		return nil, damagedRecord(entry.Key, fmt.Errorf("it is that of job %q", id))
	}
	return record, nil
}

// Ended reports whether a job is in a final state.
func Ended(job *cleavev1.Job) bool {
	switch job.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_FAILED,
		cleavev1.JobState_JOB_STATE_CANCELLED:
		return true
	}
	return false
}

// JobNotFound is the reason of the error for a job that does not exist, or that the caller may not see.
const JobNotFound = "JOB_NOT_FOUND"

// NoJob returns that error.
func NoJob(id string) error {
	return fault.New(fault.NotFound, JobNotFound, "there is no job %q", id).With("job_id", id)
}
