package worker

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/backoff"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/wire"
)

// retryTransfer repeats a transfer as long as the connection is down. It stops with the job's context,
// which ends if the coordinator gives up the session before the connection is back.
func retryTransfer(ctx context.Context, transfer func() error) error {
	for pause := backoff.New(retryPolicy); ; {
		err := transfer()
		if status.Code(err) != codes.Unavailable {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// chunks reads a server stream of byte chunks.
type chunks[M interface{ GetData() []byte }] struct {
	next func() (M, error)
	rest []byte
}

func (c *chunks[M]) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		m, err := c.next()
		if err != nil {
			return 0, err
		}
		c.rest = m.GetData()
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// operand gives the bytes of a payload.
func (j *job) operand(p *workerv1.Payload) ([]byte, error) {
	var data []byte
	err := j.receive(p, func(at int, chunk []byte) error {
		data = append(data[:at], chunk...)
		return nil
	})
	return data, err
}

// receive hands over the bytes of a payload as they come, each chunk with its place, fetching them if it
// is only a reference; where the connection breaks they come again from the first. One that the
// coordinator has dropped belongs to a command that nobody waits for.
func (j *job) receive(p *workerv1.Payload, take func(at int, chunk []byte) error) error {
	reference := p.GetReference()
	if reference == "" {
		return take(0, p.GetInline())
	}
	err := retryTransfer(j.ctx, func() error {
		ctx, cancel := context.WithCancel(j.ctx)
		defer cancel()
		stream, err := j.session.worker.client.FetchPayload(ctx, &workerv1.FetchPayloadRequest{SessionId: j.session.id, Reference: reference})
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
		}
	})
	if status.Code(err) == codes.NotFound {
		return fmt.Errorf("%w: %w", kernel.ErrNotReady, err)
	}
	return err
}

// result makes a payload of bytes: inline when they are few, else sent ahead, named by their command.
func (j *job) result(c *workerv1.Command, data []byte) (*workerv1.Payload, error) {
	if len(data) <= wire.InlineBytes {
		return &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: data}}, nil
	}
	return j.sendAhead(c, slices.Chunk(data, wire.ChunkBytes))
}

// sendAhead sends chunks, again if the connection breaks, and makes a payload that refers to them.
func (j *job) sendAhead(c *workerv1.Command, chunks iter.Seq[[]byte]) (*workerv1.Payload, error) {
	reference := strconv.FormatUint(c.GetCommandId(), 10)
	err := retryTransfer(j.ctx, func() error { return j.send(reference, chunks) })
	return &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: reference}}, err
}

func (j *job) send(reference string, chunks iter.Seq[[]byte]) error {
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	stream, err := j.session.worker.client.SendResult(ctx)
	if err != nil {
		return err
	}
	for chunk := range chunks {
		if stream.Send(&workerv1.SendResultRequest{SessionId: j.session.id, Reference: reference, Data: chunk}) != nil {
			break // CloseAndRecv says why
		}
	}
	_, err = stream.CloseAndRecv()
	return err
}

// fetchDataset fetches and verifies a whole data set.
func (j *job) fetchDataset(ctx context.Context, id string, size int64) (dataset.Dataset, error) {
	j.session.worker.log.Info("fetching data set", "dataset", id, "bytes", size)
	var data dataset.Dataset
	err := j.read(ctx, id, 0, 0, func(r io.Reader) (err error) {
		data, err = decodeVerified(id, size, r)
		return err
	})
	return data, err
}

// fetchRows fetches rows [from, to) of a given kernel matrix.
func (j *job) fetchRows(ctx context.Context, id string, columns, from, to int) ([]float64, error) {
	offset, length := dataset.RowRange(columns, from, to)
	var values []float64
	err := j.read(ctx, id, offset, length, func(r io.Reader) (err error) {
		values, err = dataset.DecodeRows(r, columns*(to-from))
		return err
	})
	return values, err
}

// read streams a range of a data set through a reader, again if the connection breaks.
func (j *job) read(ctx context.Context, id string, offset, length int64, use func(io.Reader) error) error {
	return retryTransfer(ctx, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := j.session.worker.client.FetchDataset(ctx, &workerv1.FetchDatasetRequest{
			SessionId: j.session.id, DatasetId: id, Offset: uint64(offset), Length: uint64(length),
		})
		if err != nil {
			return err
		}
		source := &transport{Reader: &chunks[*workerv1.FetchDatasetResponse]{next: recv(stream)}}
		if err := use(source); source.err != nil {
			return source.err // whatever the decoder made of it
		} else {
			return err
		}
	})
}

func recv(stream grpc.ServerStreamingClient[workerv1.FetchDatasetResponse]) func() (*workerv1.FetchDatasetResponse, error) {
	return stream.Recv
}

// transport remembers the error that ended a reader, which decoders take for a short file.
type transport struct {
	io.Reader
	err error
}

func (t *transport) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}
