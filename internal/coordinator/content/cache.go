package content

import (
	"container/list"
	"sync"
)

// Cache keeps the most recently used values in memory, up to a number of bytes. It is safe for concurrent use.
type Cache[V any] struct {
	limit int64

	// mu guards the fields below.
	mu     sync.Mutex
	used   int64      // bytes of all values, at most limit
	recent *list.List // of *cached[V], the most recently used first
	byID   map[string]*list.Element
}

// cached is a value in a Cache, and the bytes that it counts for.
type cached[V any] struct {
	id    string
	value V
	bytes int64
}

// NewCache returns an empty cache of at most limit bytes.
func NewCache[V any](limit int64) *Cache[V] {
	return &Cache[V]{limit: limit, recent: list.New(), byID: map[string]*list.Element{}}
}

// Get returns the value of an id, if it is in the cache.
func (c *Cache[V]) Get(id string) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byID[id]
	if at == nil {
		return value, false
	}
	c.recent.MoveToFront(at)
	return at.Value.(*cached[V]).value, true
}

// Put adds a value and evicts those that were not used for the longest time. It does nothing if the value is larger
// than the cache, or the cache has one of this id.
func (c *Cache[V]) Put(id string, value V, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[id] != nil || bytes > c.limit {
		return
	}
	for c.used+bytes > c.limit {
		c.remove(c.recent.Back())
	}
	c.byID[id] = c.recent.PushFront(&cached[V]{id: id, value: value, bytes: bytes})
	c.used += bytes
}

// Drop removes the value of an id, if it is in the cache.
func (c *Cache[V]) Drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byID[id]; at != nil {
		c.remove(at)
	}
}

// remove removes an element. c.mu is held.
func (c *Cache[V]) remove(at *list.Element) {
	old := c.recent.Remove(at).(*cached[V])
	delete(c.byID, old.id)
	c.used -= old.bytes
}
