package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
)

func (b *bucket) Free() (bytes int64, known bool) {
	if b.root == "" {
		return 0, false
	}
	return FreeBytes(b.root)
}

func (b *bucket) Usage(ctx context.Context) (int64, error) {
	if b.root != "" {
		total, err := directoryBytes(ctx, b.root)
		return total, b.explain("", err)
	}
	var total int64
	objects := b.Bucket.List(nil)
	for {
		object, err := objects.Next(ctx)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return 0, b.explain("", err)
		}
		progressed(ctx)
		total += object.Size
	}
}

// directoryBytes returns the total size of the files under a directory. Files removed meanwhile do not count.
func directoryBytes(ctx context.Context, root string) (total int64, err error) {
	err = filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		progressed(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return errors.Join(err, ctx.Err())
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return ctx.Err()
	})
	return total, err
}
