package store

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"go.uber.org/zap/zapcore"

	"github.com/cleave-project/cleave/internal/fault"
)

// breakdown handles fatal errors of an embedded etcd, such as a failed write. While etcd starts it panics, which
// startEtcd recovers. Later it ends only the goroutine that cannot continue, and the state fails: all its calls
// return the error and its leadership is lost, so that the program can report the reason and stop.
type breakdown struct {
	state atomic.Pointer[etcdState] // nil while etcd starts
}

func (b *breakdown) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	why := []string{entry.Message}
	for _, f := range fields {
		if err, is := f.Interface.(error); is {
			why = append(why, err.Error())
		}
	}
	message := strings.Join(why, ": ")
	s := b.state.Load()
	if s == nil {
		panic(message)
	}
	s.fail(fmt.Errorf("etcd: %s", message))
	runtime.Goexit()
}

// fail ends the state because its etcd has failed.
func (s *etcdState) fail(cause error) {
	s.log.Error("the state store has failed", "error", cause)
	s.mu.Lock()
	if s.failure == nil {
		s.failure = fault.New(fault.Unavailable, "STORE_FAILED",
			"the state store has failed (%v); make sure that its disk has space and can be written to, and restart the coordinator", cause).Because(ErrClosed)
	}
	s.mu.Unlock()
	s.cancel()
}

// failed returns why the state ended by itself, or nil if it did not.
func (s *etcdState) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		return nil
	}
	return s.failure
}
