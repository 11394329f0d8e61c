package client

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/wire"
)

// A coordinator that has too much to do refuses calls and says when to try again. The pauses grow from what it says, up to
// maxRefusalPause, so that it can catch up.
const (
	maxRefusals     = 6
	maxRefusalPause = 20 * time.Second
)

// repeatRefused calls do, and again while the coordinator refuses it for the moment, a bounded number of times.
func (c *Client) repeatRefused(ctx context.Context, do func() error) error {
	for refusals := 1; ; refusals++ {
		err := do()
		pause, helps := wire.RetryDelay(err)
		if !helps || refusals > maxRefusals {
			return err
		}
		pause = min(pause<<(refusals-1), maxRefusalPause)
		pause += rand.N(pause/2 + 1) // so that not all who were refused come back together
		c.warn("%s; trying again in %v (%d of %d)", status.Convert(err).Message(), pause.Round(100*time.Millisecond), refusals, maxRefusals)
		if backoff.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// repeat is repeatRefused, but also repeats what breaks or finds no leader.
func (c *Client) repeat(ctx context.Context, do func() error) error {
	return c.repeatRefused(ctx, func() error { return c.leader.repeat(ctx, do) })
}

// repeatUnary repeats calls that are refused for the moment.
func (c *Client) repeatUnary(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return c.repeatRefused(ctx, func() error { return invoke(ctx, method, request, reply, connection, options...) })
}

// warn tells the user something, if there is a way to.
func (c *Client) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(format, args...)
	}
}
