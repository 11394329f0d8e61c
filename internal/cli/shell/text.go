package shell

import (
	"errors"
	"io/fs"
)

// WithoutPath is the reason of a failed file operation without the path, which the message names anyway.
func WithoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
