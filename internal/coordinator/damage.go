package coordinator

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// object is something that is stored, for the errors that name it when it is damaged or gone.
type object struct {
	reason  string // of the fault
	what    string // for people: "the labels of job 42"
	key, id string // for programs: "job_id", "42"
	remedy  string // what to do
}

// jobPart is a stored part of a job: "spec", "labels".
func jobPart(part, job string) object {
	o := object{
		reason: "RESULT_DAMAGED", what: fmt.Sprintf("the stored %s of job %s", part, job), key: "job_id", id: job,
		remedy: "restore the blob from a backup, or run the job again",
	}
	if part == partSpec {
		o.reason = "SPEC_DAMAGED"
	}
	return o
}

// The parts of a job, for people.
const (
	partSpec          = "spec"
	partOutcome       = "outcome"
	partLabels        = "labels"
	partModel         = "model"
	partEmbedding     = "embedding"
	partRowScores     = "scores of the rows"
	partNeighborGraph = "graph of neighbors"
	partRows          = "rows of the table"
)

// damaged says that the object is not what was stored, and how that was noticed.
func (o object) damaged(why error) error {
	return fault.New(fault.DataLoss, o.reason, "%s cannot be used: %v; %s", o.what, why, o.remedy).With(o.key, o.id).Because(why)
}

// explain names the object in the error of reading it, if it is damaged or gone.
func (o object) explain(err error) error {
	if fault.Is(err, store.BlobDamaged) || errors.Is(err, store.ErrNotFound) {
		return o.damaged(err)
	}
	return err
}

// objectReader reads an object, and names it in its errors.
type objectReader struct {
	io.ReadCloser
	object object
}

func (r objectReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	return n, r.object.explain(err)
}

// hashedReader reads a whole object that is identified by its SHA-256, and at the end checks it.
type hashedReader struct {
	objectReader
	hash hash.Hash
	want string // in hexadecimal
}

func (r *hashedReader) Read(p []byte) (int, error) {
	n, err := r.objectReader.Read(p)
	r.hash.Write(p[:n])
	if err == io.EOF {
		if got := hex.EncodeToString(r.hash.Sum(nil)); got != r.want {
			err = r.object.damaged(fmt.Errorf("its SHA-256 is %s", got))
		}
	}
	return n, err
}
