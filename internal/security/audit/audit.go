// Package audit keeps the record of who did what: a file of JSON lines that is only ever appended to.
package audit

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
)

// Line is one line of the log. A call that changes something has two: one before it begins, so that nothing happens that
// the log does not tell, and one with its result.
type Line struct {
	Time   time.Time `json:"time"`
	Event  string    `json:"event"` // begin or end
	Caller string    `json:"caller"`
	Role   string    `json:"role"`
	Method string    `json:"method"`
	Peer   string    `json:"peer"`
	// Request is the id of the call, which lines of the other logs have too.
	Request string            `json:"request,omitempty"`
	IDs     map[string]string `json:"ids,omitempty"`    // of what the call is about, by their fields
	Code    string            `json:"code,omitempty"`   // of the result
	Reason  string            `json:"reason,omitempty"` // of a refusal
	// Unlogged is how many refused calls of unknown callers have no line, because there were too many.
	Unlogged int `json:"unlogged,omitempty"`
}

// The events.
const (
	Begin = "begin"
	End   = "end"
)

// Log is an open log.
type Log struct {
	file *os.File
	now  func() time.Time

	mu      sync.Mutex
	dirty   bool // something was written since the last sync
	torn    bool // the last line was cut, as on a full disk
	stop    chan struct{}
	stopped sync.WaitGroup

	second   time.Time // in which strangers were counted
	counted  int
	unlogged int
}

const (
	// syncEvery is how much of the log a power cut may take.
	syncEvery = time.Second
	// strangersPerSecond keeps those that may not even call from filling the disk.
	strangersPerSecond = 10
)

// Open opens a log to append to, and makes it if there is none. now is a clock.
func Open(path string, now func() time.Time) (*Log, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fault.Invalid("NO_AUDIT_LOG", "the audit log cannot be opened: %v", err)
	}
	l := &Log{file: file, now: now, stop: make(chan struct{})}
	l.stopped.Go(l.syncNowAndThen)
	return l, nil
}

// Write appends a line; the log sets its time. It returns once the system has the line, so that it outlives this process.
func (l *Log) Write(line Line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(line)
}

// WriteStranger appends a line about a caller that nobody knows, unless there are too many of those.
func (l *Log) WriteStranger(line Line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); now.Sub(l.second) >= time.Second {
		l.second, l.counted = now, 0
	}
	if l.counted++; l.counted > strangersPerSecond {
		l.unlogged++
		return nil
	}
	line.Unlogged = l.unlogged
	l.unlogged = 0
	return l.write(line)
}

func (l *Log) write(line Line) error {
	line.Time = l.now().UTC()
	encoded, err := json.Marshal(line)
	if err != nil {
		return err
	}
	encoded = append(encoded, '\n')
	if l.torn {
		encoded = append([]byte{'\n'}, encoded...)
	}
	written, err := l.file.Write(encoded) // in one piece
	l.dirty, l.torn = true, err != nil && (l.torn || written > 0)
	return err
}

func (l *Log) syncNowAndThen() {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.sync()
		case <-l.stop:
			return
		}
	}
}

func (l *Log) sync() {
	l.mu.Lock()
	dirty := l.dirty
	l.dirty = false
	l.mu.Unlock()
	if dirty {
		_ = l.file.Sync() // a disk that is broken also refuses the next write
	}
}

// Close ends the log.
func (l *Log) Close() error {
	close(l.stop)
	l.stopped.Wait()
	l.sync()
	return l.file.Close()
}
