package wire

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
)

// Receive calls take with one part of a stream after the other, until the stream ends with io.EOF. Errors of the
// stream and of take are returned as they are.
func Receive[P any](receive func() (P, error), take func(P) error) error {
	for {
		part, err := receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(part); err != nil {
			return err
		}
	}
}

// sendParts sends parts through a stream that is opened for them, and returns the answer.
func sendParts[P, A any](ctx context.Context, open func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[P, A], error),
	parts func(send func(*P) error) error,
) (*A, error) {
	ctx, cancel := context.WithCancel(ctx) // ends a stream that is left halfway
	defer cancel()
	stream, err := open(ctx)
	if err != nil {
		return nil, Fault(err)
	}
	// EOF from a send says that the coordinator has answered already; CloseAndRecv tells what.
	if err := parts(stream.Send); err != nil && !errors.Is(err, io.EOF) {
		return nil, Fault(err)
	}
	answer, err := stream.CloseAndRecv()
	return answer, Fault(err)
}
