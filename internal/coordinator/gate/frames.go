package gate

import (
	"encoding/binary"
	"errors"
	"net"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/credentials"
)

// gRPC bounds the size of header blocks, the pings and the answers that a client makes it queue, but reads frames that carry
// nothing for as long as a client sends them: empty CONTINUATION frames, and streams that are reset as soon as they begin.
const (
	// maxContinuations is how many frames a header block may be continued by. The largest that is accepted fits in a few.
	maxContinuations = 64
	// A connection may have maxIdleFrames at once of those frames that get no call further, and idleFramesPerSecond
	// after that: more than a client sends that ends many calls before their time.
	maxIdleFrames       = 2000
	idleFramesPerSecond = 500
)

var (
	errContinuations = errors.New("a header block is continued without end")
	errIdleFrames    = errors.New("too many frames that get no call further, such as resets of streams")
)

// watchful closes connections of clients that send floods of HTTP/2 frames that carry nothing.
type watchful struct {
	credentials.TransportCredentials
	log hclog.Logger
}

func (w watchful) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := w.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return secured, info, err
	}
	return &watchedConn{Conn: secured, log: w.log, skip: prefaceBytes, idle: rate.NewLimiter(idleFramesPerSecond, maxIdleFrames)}, info, nil
}

func (w watchful) Clone() credentials.TransportCredentials {
	return watchful{w.TransportCredentials.Clone(), w.log}
}

// The HTTP/2 frames (RFC 9113) that are told apart here.
const (
	prefaceBytes = 24 // that a client sends before its first frame
	headerBytes  = 9  // of a frame: 3 of length, type, flags, 4 of stream

	frameData, frameContinuation, frameReset, framePriority = 0, 9, 3, 2

	flagEndStream = 1
)

// watchedConn looks at the headers of the frames that are read from it. One goroutine reads.
type watchedConn struct {
	net.Conn
	log    hclog.Logger
	skip   int    // bytes before the next frame header
	header []byte // what has been read of it
	run    int    // CONTINUATION frames in a row
	idle   *rate.Limiter
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if flood := c.watch(p[:n]); flood != nil { // not louder, because anyone can cause it
		c.log.Debug("a connection is closed", "peer", c.RemoteAddr().String(), "error", flood)
		_ = c.Close()
		return 0, flood
	}
	return n, err
}

// watch follows the frames in p, which continues what was watched before.
func (c *watchedConn) watch(p []byte) error {
	for len(p) > 0 {
		if c.skip > 0 {
			skipped := min(c.skip, len(p))
			c.skip, p = c.skip-skipped, p[skipped:]
			continue
		}
		taken := min(headerBytes-len(c.header), len(p))
		c.header, p = append(c.header, p[:taken]...), p[taken:]
		if len(c.header) < headerBytes {
			return nil
		}
		length, kind, flags := int(binary.BigEndian.Uint32(c.header)>>8), c.header[3], c.header[4]
		c.header, c.skip = c.header[:0], length
		if kind == frameContinuation {
			if c.run++; c.run > maxContinuations {
				return errContinuations
			}
			continue
		}
		c.run = 0
		if kind == frameReset || kind == framePriority || kind > frameContinuation || kind == frameData && length == 0 && flags&flagEndStream == 0 {
			if !c.idle.Allow() {
				return errIdleFrames
			}
		}
	}
	return nil
}
