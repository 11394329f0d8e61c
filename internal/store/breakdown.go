package store

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"go.uber.org/zap/zapcore"

	"github.com/cleave-project/cleave/internal/fault"
)

// breakdown is what becomes of a fatal error of an embedded etcd, such as a write that failed. While etcd starts it panics,
// which startEtcd recovers. Later it ends only the goroutine that cannot go on, and the state fails: all its calls return
// the error, and its leadership is lost, so that the program can say why and stop.
type breakdown struct {
	state atomic.Pointer[etcdState] // nil while etcd starts
}

// OnWrite implements zapcore.CheckWriteHook.
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

// fail ends the state because its etcd has ended.
func (s *etcdState) fail(cause error) {
	s.log.Error("the state store cannot go on", "error", cause)
	s.mu.Lock()
	if s.failure == nil {
		s.failure = fault.New(fault.Unavailable, "STORE_FAILED",
			"the state store cannot go on (%v); make sure that its disk has space and can be written to, and start again", cause).Because(ErrClosed)
	}
	s.mu.Unlock()
	s.cancel()
}

// failed is why the state ended by itself, nil unless it did.
func (s *etcdState) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		return nil
	}
	return s.failure
}
