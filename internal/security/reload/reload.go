// Package reload keeps values read from files up to date, because certificates, keys and tokens change while a
// program runs.
package reload

import (
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
)

// checkEvery is the minimum time between checks of the files.
const checkEvery = time.Second

const cannotRead = "CANNOT_READ"

// Files is a value that was read from some files, and is read again when one of them changes. It is safe for
// concurrent use.
type Files[T any] struct {
	what  string // for people, such as "the certificate"
	paths []string
	parse func(contents [][]byte) (T, error)
	log   hclog.Logger
	now   func() time.Time

	// mu guards the fields below.
	mu      sync.Mutex
	value   T
	stamps  []stamp
	checked time.Time
	said    string // the error that was last logged
}

// stamp distinguishes versions of a file.
type stamp struct {
	modified time.Time
	size     int64
}

// New reads the files for the first time, and fails if they cannot be read or parsed.
func New[T any](what string, paths []string, parse func(contents [][]byte) (T, error), log hclog.Logger,
	now func() time.Time) (*Files[T], error) {
	f := &Files[T]{what: what, paths: paths, parse: parse, log: log, now: now}
	f.checked, f.stamps = now(), f.look()
	var err error
	f.value, err = f.read()
	return f, err
}

// Get returns the current value. If the files have changed and cannot be used, the value stays the same and an error
// is logged once.
func (f *Files[T]) Get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if now.Sub(f.checked) < checkEvery {
		return f.value
	}
	f.checked = now
	stamps := f.look()
	if slices.Equal(stamps, f.stamps) {
		return f.value
	}
	f.stamps = stamps
	value, err := f.read()
	if err != nil {
		if fault.Is(err, cannotRead) { // retry every time, because a change of permissions does not change the stamp
			f.stamps = nil
		}
		if err.Error() != f.said {
			f.said = err.Error()
			f.log.Error(f.what+" changed, but the new version cannot be used; keeping the previous one", "error", err)
		}
		return f.value
	}
	f.said = ""
	f.log.Info(f.what+" was read again", "files", f.paths)
	f.value = value
	return value
}

func (f *Files[T]) look() []stamp {
	stamps := make([]stamp, len(f.paths))
	for at, path := range f.paths {
		if info, err := os.Stat(path); err == nil {
			stamps[at] = stamp{info.ModTime(), info.Size()}
		}
	}
	return stamps
}

func (f *Files[T]) read() (value T, err error) {
	contents := make([][]byte, len(f.paths))
	for at, path := range f.paths {
		if contents[at], err = os.ReadFile(path); err != nil {
			return value, fault.Invalid(cannotRead, "%s cannot be read: %v", f.what, err)
		}
	}
	if value, err = f.parse(contents); err != nil {
		return value, fault.Wrap(err, "%s", f.what)
	}
	return value, nil
}
