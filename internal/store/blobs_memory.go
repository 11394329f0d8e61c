package store

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"time"
)

// memoryBucket is a bucket in memory, which ends with the process.
type memoryBucket struct {
	mu      sync.Mutex
	objects map[string][]byte // a value never changes
}

func (m *memoryBucket) explain(name string, err error) error { return blobError(name, err) }

func (m *memoryBucket) create(ctx context.Context, key string, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.objects[key]; taken {
		return ErrExists
	}
	m.objects[key] = bytes.Clone(content.Bytes()) // without the room to grow
	return nil
}

func (m *memoryBucket) get(key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, there := m.objects[key]
	if !there {
		return nil, ErrNotFound
	}
	return content, nil
}

func (m *memoryBucket) open(_ context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	content, err := m.get(key)
	if err != nil {
		return nil, err
	}
	content = content[min(offset, int64(len(content))):]
	if length >= 0 {
		content = content[:min(length, int64(len(content)))]
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (m *memoryBucket) size(_ context.Context, key string) (int64, error) {
	content, err := m.get(key)
	return int64(len(content)), err
}

func (m *memoryBucket) remove(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.objects[key]; !there {
		return ErrNotFound
	}
	delete(m.objects, key)
	return nil
}

func (m *memoryBucket) each(ctx context.Context, prefix string, visit func(string, int64)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, content := range m.objects {
		if strings.HasPrefix(key, prefix) {
			visit(key, int64(len(content)))
		}
	}
	return ctx.Err()
}

func (m *memoryBucket) signedURL(context.Context, string, time.Duration) (string, error) {
	return "", nil
}

func (m *memoryBucket) free() (bytes int64, known bool) { return 0, false }

func (m *memoryBucket) removeTemporary(context.Context) {}

func (m *memoryBucket) close() error { return nil }
