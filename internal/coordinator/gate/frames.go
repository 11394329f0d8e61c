package gate

import (
	"encoding/binary"
	"errors"
	"net"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/credentials"
)

// gRPC limits the size of header blocks, pings, and the responses that a client makes it queue. It does not limit
// frames that carry nothing: empty CONTINUATION frames, and resets of streams that have just been opened.
const (
	// maxContinuations is the maximum number of CONTINUATION frames in a row. The largest accepted header block needs
	// only a few.
	maxContinuations = 64
	// Frames that advance no call, such as resets, are limited to maxIdleFrames in a burst and idleFramesPerSecond
	// after that. Clients that cancel many calls stay below these limits.
	maxIdleFrames       = 2000
	idleFramesPerSecond = 500
)

var (
	errContinuations = errors.New("too many CONTINUATION frames in a row")
	errIdleFrames    = errors.New("too many frames that advance no call, such as resets of streams")
)

// watchful are transport credentials that close the connections of clients that flood the server with empty HTTP/2
// frames.
type watchful struct {
	credentials.TransportCredentials
	log hclog.Logger
}

func (w watchful) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := w.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return secured, info, err
	}
	return &watchedConn{Conn: secured, log: w.log, skip: prefaceBytes,
		idle: rate.NewLimiter(idleFramesPerSecond, maxIdleFrames)}, info, nil
}

func (w watchful) Clone() credentials.TransportCredentials {
	return watchful{w.TransportCredentials.Clone(), w.log}
}

// HTTP/2 framing (RFC 9113).
const (
	prefaceBytes = 24 // sent by a client before its first frame
	headerBytes  = 9  // of a frame: 3 of length, type, flags, 4 of stream

	frameData, frameContinuation, frameReset, framePriority = 0, 9, 3, 2

	flagEndStream = 1
)

// watchedConn parses the headers of the frames that are read from it. Only one goroutine may read at a time.
type watchedConn struct {
	net.Conn
	log    hclog.Logger
	skip   int    // bytes before the next frame header
	header []byte // the part of the next frame header that has been read
	run    int    // CONTINUATION frames in a row
	idle   *rate.Limiter
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if flood := c.watch(p[:n]); flood != nil { // logged at debug level, because any client can cause it
		c.log.Debug("closing a connection", "peer", c.RemoteAddr().String(), "error", flood)
		_ = c.Close()
		return 0, flood
	}
	return n, err
}

// watch counts the frames in p, the next bytes of the connection. It returns an error if there are too many.
func (c *watchedConn) watch(p []byte) error {
	for len(p) > 0 {
		if c.skip > 0 {
			skipped := min(c.skip, len(p))
			c.skip, p = c.skip-skipped, p[skipped:]
			continue
		}
		taken := min(headerBytes-len(c.header), len(p))
		c.header = append(c.header, p[:taken]...)
		p = p[taken:]
		if len(c.header) < headerBytes {
			return nil
		}
		length := int(binary.BigEndian.Uint32(c.header) >> 8)
		kind := c.header[3]
		flags := c.header[4]
		c.header, c.skip = c.header[:0], length
		if kind == frameContinuation {
			if c.run++; c.run > maxContinuations {
				return errContinuations
			}
			continue
		}
		c.run = 0
		if kind == frameReset || kind == framePriority || kind > frameContinuation ||
			kind == frameData && length == 0 && flags&flagEndStream == 0 {
			if !c.idle.Allow() {
				return errIdleFrames
			}
		}
	}
	return nil
}
