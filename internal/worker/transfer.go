package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/wire"
)

// retryTransfer repeats a transfer for as long as the connection is down. It stops with the job's context, which ends
// if the coordinator ends the session before the connection is back.
func retryTransfer(ctx context.Context, transfer func() error) error {
	for pause := dial.NewBackoff(retryPolicy); ; {
		err := transfer()
		if status.Code(err) != codes.Unavailable {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// payloadBytes fetches the bytes of a payload.
func (j *job) payloadBytes(p *workerv1.Payload) ([]byte, error) {
	var data []byte
	err := j.receivePayload(p, func(at int, chunk []byte) error {
		data = append(data[:at], chunk...)
		return nil
	})
	return data, err
}

// payloadFloats fetches a payload of count values. It unpacks them as they arrive, so that they take only their own
// memory.
func (j *job) payloadFloats(p *workerv1.Payload, count int) ([]float64, error) {
	var values []float64
	arrived := 0
	wrong := func() error { return fmt.Errorf("worker: a payload of %d bytes for %d values", arrived, count) }
	err := j.receivePayload(p, func(at int, chunk []byte) error {
		arrived = at + len(chunk)
		if at%8 != 0 || arrived > 8*count || p.GetReference() == "" && arrived < 8*count {
			return wrong()
		}
		if values == nil {
			values = make([]float64, count)
		}
		return wire.UnpackFloat64sInto(values[at/8:arrived/8], chunk)
	})
	if err == nil && arrived != 8*count {
		err = wrong()
	}
	return values, err
}

// receivePayload passes the bytes of a payload to take, chunk by chunk, each with its offset. If the connection
// breaks, it starts again at offset 0. It fails if the coordinator has freed the payload, in which case nobody waits
// for the command anymore.
func (j *job) receivePayload(p *workerv1.Payload, take func(at int, chunk []byte) error) error {
	reference := p.GetReference()
	if reference == "" {
		return take(0, p.GetInline())
	}
	err := retryTransfer(j.ctx, func() error {
		ctx, cancel := context.WithCancel(j.ctx)
		defer cancel()
		stream, err := j.session.client.FetchPayload(ctx, &workerv1.FetchPayloadRequest{SessionId: j.session.id,
			Reference: reference})
		if err != nil {
			return err
		}
		for at := 0; ; {
			m, err := stream.Recv()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := take(at, m.GetData()); err != nil {
				return err
			}
			at += len(m.GetData())
			j.worker.heard.Add(1)
			j.worker.cfg.Observe.Fetched("operands", len(m.GetData()))
			j.pieces.Add(1)
		}
	})
	return unlessDropped(err)
}

// unlessDropped returns the error of a transfer. The coordinator answers with NotFound if it no longer waits for the
// command, which is no failure of this worker.
func unlessDropped(err error) error {
	if status.Code(err) == codes.NotFound {
		return fmt.Errorf("%w: %w", kernel.ErrNotReady, err)
	}
	return err
}

// resultPayload returns a payload of a result: inline if it is small, and otherwise sent by reference.
func (j *job) resultPayload(c *workerv1.Command, data []byte) (*workerv1.Payload, error) {
	if len(data) <= wire.InlineBytes {
		return &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: data}}, nil
	}
	return j.sendResult(c, slices.Chunk(data, wire.ChunkBytes))
}

// sendResult sends a result in chunks, again if the connection breaks, and returns a payload that refers to it by the
// command's id. chunks must be repeatable.
func (j *job) sendResult(c *workerv1.Command, chunks iter.Seq[[]byte]) (*workerv1.Payload, error) {
	reference := strconv.FormatUint(c.GetCommandId(), 10)
	err := retryTransfer(j.ctx, func() error { return j.streamResult(reference, chunks) })
	return &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: reference}}, unlessDropped(err)
}

func (j *job) streamResult(reference string, chunks iter.Seq[[]byte]) error {
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	stream, err := j.session.client.SendResult(ctx)
	if err != nil {
		return err
	}
	for chunk := range chunks {
		if stream.Send(&workerv1.SendResultRequest{SessionId: j.session.id, Reference: reference, Data: chunk}) != nil {
			break // CloseAndRecv returns the reason
		}
		j.pieces.Add(1)
	}
	_, err = stream.CloseAndRecv()
	return err
}

// fetchDataset fetches a whole data set and verifies its hash, and passes it on for as long as the job lasts if the
// worker serves others. It returns a data set in the memory of this process as it is.
func (j *job) fetchDataset(ctx context.Context, id string, size int64) (dataset.Dataset, error) {
	if data := j.worker.cfg.SharedDataset(id); data != nil {
		return data, nil
	}
	j.worker.log.Info("fetching data set", "job", j.publicID(), "dataset", id, "bytes", size)
	j.join(id, size)
	defer func() {
		if !j.worker.exchange.Serves() {
			j.leave()
		}
	}()
	for {
		data, err := decodeVerified(id, size, j.share.Reader(ctx))
		if !errors.Is(err, errDamaged) || !j.share.Recheck() {
			return data, err
		}
	}
}

// join takes part in the distribution of a data set.
func (j *job) join(id string, size int64) {
	j.leave()
	j.share = j.worker.exchange.Join(j.session.ctx, j.session.source, id, size)
}

// joinByRows takes part in the distribution of some rows of the data set, unless it does so already.
func (j *job) joinByRows() {
	if j.share != nil && !j.share.Over() {
		return
	}
	j.leave()
	j.worker.log.Info("fetching rows of a data set", "job", j.publicID(), "dataset", j.datasetID,
		"bytes of all rows", j.need.DatasetBytes)
	j.share = j.worker.exchange.JoinPartly(j.session.ctx, j.session.source, j.datasetID, j.need.DatasetBytes)
}

// leave ends the job's part in the distribution of its data set.
func (j *job) leave() {
	if j.share != nil {
		j.share.Close()
		j.share = nil
	}
}

// passOn lets other workers fetch the data set of the job from this one, if the cache has all of it.
func (j *job) passOn() {
	if j.need.ByRows() {
		return
	}
	if e := j.worker.exchange; j.datasetID != "" && e.Serves() && e.Complete(j.datasetID, j.need.DatasetBytes) {
		j.join(j.datasetID, j.need.DatasetBytes)
	}
}

// fetchRows fetches rows [from, to) of a data set that is a kernel matrix.
func (j *job) fetchRows(ctx context.Context, id string, columns, from, to int) ([]float64, error) {
	if given, ok := j.worker.cfg.SharedDataset(id).(*dataset.Kernel); ok {
		return kernel.GivenRows(given)(ctx, from, to)
	}
	offset, length := dataset.RowRange(columns, from, to)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := j.worker.exchange.Range(ctx, j.session.source, id, offset, length)
	values, err := dataset.DecodeRows(r, columns*(to-from))
	return values, cmp.Or(r.Err, err) // the decoder reports a stream that broke as a short file
}
