// Package audit records who did what, in an append-only file of JSON lines. It does not decide what is recorded.
package audit

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
)

// Line is one line of the log. A call that changes something has two: one before it begins, so that nothing happens
// without a record, and one with its result.
type Line struct {
	Time   time.Time `json:"time"`
	Event  string    `json:"event"` // begin or end
	Caller string    `json:"caller"`
	Role   string    `json:"role"`
	Method string    `json:"method"`
	Peer   string    `json:"peer"`
	// Request is the id of the call, which also appears in other logs.
	Request string            `json:"request,omitempty"`
	IDs     map[string]string `json:"ids,omitempty"`    // ids of what the call is about, by field
	Code    string            `json:"code,omitempty"`   // status code of the result
	Reason  string            `json:"reason,omitempty"` // reason of a rejection
	// Unlogged is how many rejected calls of unknown callers were not logged since the last line about one, because
	// there were too many.
	Unlogged int `json:"unlogged,omitempty"`
}

// The events.
const (
	Begin = "begin"
	End   = "end"
)

// Log is an open log. It is safe for concurrent use.
type Log struct {
	file *os.File
	now  func() time.Time

	// mu guards the fields below, except for stop and stopped.
	mu      sync.Mutex
	dirty   bool // something was written since the last sync
	torn    bool // the last line was cut off, for example on a full disk
	stop    chan struct{}
	stopped sync.WaitGroup

	second   time.Time // the second in which strangers are counted
	counted  int
	unlogged int
}

const (
	// syncEvery is the maximum age of lines that a power failure may lose.
	syncEvery = time.Second
	// strangersPerSecond keeps callers who are not allowed in from filling the disk.
	strangersPerSecond = 10
)

// Open opens a log for appending, and creates it if it does not exist. The caller must close it.
func Open(path string, now func() time.Time) (*Log, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fault.Invalid("NO_AUDIT_LOG", "the audit log cannot be opened: %v", err)
	}
	l := &Log{file: file, now: now, torn: endsTorn(path), stop: make(chan struct{})}
	l.stopped.Go(l.syncNowAndThen)
	return l, nil
}

// endsTorn reports whether the last line of a file was cut off, for example when the process before ended on a full
// disk.
func endsTorn(path string) bool {
	last := []byte{'\n'} // stays if the file may only be written, or is no regular one
	if file, err := os.Open(path); err == nil {
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.Size() > 0 {
			_, _ = file.ReadAt(last, info.Size()-1)
		}
	}
	return last[0] != '\n'
}

// Write appends a line and sets its time. When it returns nil, the operating system has the line, so that it survives
// the end of this process.
func (l *Log) Write(line Line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(line)
}

// WriteStranger appends a line about an unknown caller, unless there are too many of those this second.
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
	err := l.write(line)
	if err == nil {
		l.unlogged = 0
	}
	return err
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
	l.dirty = true
	l.torn = err != nil && (l.torn || written > 0)
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
		_ = l.file.Sync() // a broken disk also fails the next write
	}
}

// Close syncs and closes the log. It must be called once.
func (l *Log) Close() error {
	close(l.stop)
	l.stopped.Wait()
	l.sync()
	return l.file.Close()
}
