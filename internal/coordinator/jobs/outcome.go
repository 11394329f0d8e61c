package jobs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/wire"
)

// resultRetries is the backoff between attempts to store a result.
var resultRetries = dial.BackoffPolicy{First: 100 * time.Millisecond, Max: 10 * time.Second}

// storeEnd decides how a job ends and stores its blobs. While the result of a successful run cannot be stored, for
// example on a full disk, storeEnd keeps it in memory and retries until the job is canceled. Jobs that failed or were
// canceled end without their result if it cannot be stored. stopped means that the coordinator stops first.
func (m *Manager) storeEnd(j *Job, out runOutcome) (d decision, blobs endBlobs, stopped bool) {
	blobs.parts = &statev1.JobRecord{}
	for attempt, pause := 0, dial.NewBackoff(resultRetries); ; attempt++ {
		cause := context.Cause(j.ctx)
		canceled := j.cancelRequested()
		if cause != nil && Interrupted(cause) {
			return d, blobs, true
		}
		d = decide(out, cause, canceled, nil)
		err := m.storeOutcome(j, d, attempt, &blobs)
		retryable := err != nil && !errors.Is(err, proto.Error) // retrying does not fix an encoding error
		if retryable && d.state == cleavev1.JobState_JOB_STATE_SUCCEEDED {
			m.keepResult(j, err, pause)
			continue
		}
		if err != nil {
			m.d.Logger.Error("the outcome of a job cannot be stored", "job", j.id,
				"state", shortName(d.state, "JOB_STATE_"), "error", err)
			d = decide(out, cause, canceled, err)
		}
		if j.beginEnd() && !canceled {
			blobs.replaced, blobs.outcome = blobs.outcome, ""
			continue // canceled in the meantime, so decide again
		}
		if err != nil {
			blobs = endBlobs{}
		}
		return d, blobs, false
	}
}

// keepResult tells watchers that the result cannot be stored, and pauses before the next attempt.
func (m *Manager) keepResult(j *Job, why error, pause *dial.Backoff) {
	message := fmt.Sprintf("the run is done, but its result cannot be stored; keeping it in memory and retrying: %v",
		why)
	m.d.Logger.Error("the result of a job cannot be stored; it is kept in memory and tried again",
		"job", j.id, "attempts", pause.Waits()+1, "error", why)
	j.setWaiting(message)
	j.progress.Enter(cleavev1.Phase_PHASE_WAITING, message)
	if err := j.log.Flush(); err != nil { // so that watchers see the whole run
		m.d.Logger.Warn("the last events of a job are not durable yet", "job", j.id, "error", err)
	}
	_ = pause.Wait(m.afterRunContext(j))
}

// afterRunContext returns the context for pauses after a run: that of the job, or Context if the time limit has
// ended the job's context.
func (m *Manager) afterRunContext(j *Job) context.Context {
	if errors.Is(context.Cause(j.ctx), errTimeLimit) {
		return m.d.Context
	}
	return j.ctx
}

// endBlobs holds what refers to the blobs stored at the end of a job.
type endBlobs struct {
	outcome  string             // its name; "" if it is not stored
	parts    *statev1.JobRecord // has only the fields about the large parts of the result that are stored
	replaced string             // an outcome that a cancellation made useless; "" if there is none
}

// putPart stores a part of a result and returns the full name of its blob.
type putPart func(name string, write func(io.Writer) error) (blob string, err error)

// storeParts stores the large parts of a result that are not stored yet, each in a blob of its own, and adds them to
// stored.
func (o runOutcome) storeParts(stored *statev1.JobRecord, put putPart) (err error) {
	r := o.result
	if r == nil {
		return nil
	}
	add := func(blob *string, name string, write func(io.Writer) error) {
		if err == nil && *blob == "" { // otherwise an earlier attempt stored it
			*blob, err = put(name, write)
		}
	}
	add(&stored.LabelsBlob, "labels", func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, r.Labels) })
	if k := r.KSelection; k != nil {
		stored.KMin = uint32(k.Min)
		add(&stored.KLabelsBlob, "klabels", func(w io.Writer) error {
			for _, labels := range k.Labels { // in ascending order of k
				if err := binary.Write(w, binary.LittleEndian, labels); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if r.Rows != nil {
		stored.RowScores = wire.RowScoresHead(r.Rows)
		add(&stored.RowScoresBlob, "rows", func(w io.Writer) error { return wire.WriteRowScores(w, r.Rows) })
	}
	if r.Model != nil {
		stored.Model = wire.ModelHead(r.Model)
		add(&stored.ModelBlob, "model", func(w io.Writer) error { return wire.WriteModel(w, r.Model) })
	}
	if r.Spectral.Embedding != nil {
		stored.Embedding = wire.EmbeddingHead(r.Spectral.Embedding)
		add(&stored.EmbeddingBlob, "embedding", func(w io.Writer) error {
			return wire.WriteEmbedding(w, r.Spectral.Embedding)
		})
	}
	if r.NeighborGraph != nil {
		graph := r.NeighborGraph.Graph
		stored.NeighborGraphBytes = uint64(dataset.EncodedSize(graph))
		add(&stored.NeighborGraphBlob, "neighbors", func(w io.Writer) error { return dataset.Encode(w, graph) })
	}
	if rows := o.table.Rows(); rows != nil {
		stored.RowsBytes = uint64(rows.EncodedSize())
		add(&stored.RowsBlob, "tablerows", rows.Encode)
	}
	return err
}

// storeOutcome stores the large parts of the result, and then the outcome, which contains the result and all events.
// It records them in blobs.
func (m *Manager) storeOutcome(j *Job, d decision, attempt int, blobs *endBlobs) error {
	nameOf := func(what string) string { return records.EndBlob(j.id, m.term, attempt, what) }
	err := d.run.storeParts(blobs.parts, func(part string, write func(io.Writer) error) (string, error) {
		if err := m.d.Parts.Blobs.Put(m.d.Writer.Context, nameOf(part), write); err != nil {
			return "", err
		}
		return nameOf(part), nil
	})
	if err != nil {
		return err
	}
	outcome := &statev1.Outcome{Events: d.addEnd(j.log.All()), Result: d.result(m.d.Version)}
	if err := m.putBlob(m.d.Writer.Context, nameOf("outcome"), outcome); err != nil {
		return err
	}
	blobs.outcome = nameOf("outcome")
	return nil
}
