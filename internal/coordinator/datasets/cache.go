package datasets

import (
	"container/list"
	"maps"
	"sync"
	"weak"
)

// Cache keeps the most recently used values in memory, up to a number of bytes. It also finds values that it does not
// keep, for as long as others hold them, so that calls for a large value share it. It is safe for concurrent use.
type Cache[V any] struct {
	limit  int64
	weaken func(V) (find func() (value V, found bool))

	// mu guards the fields below.
	mu     sync.Mutex
	used   int64      // bytes of all values, at most limit
	recent *list.List // of *cached[V], the most recently used first
	byID   map[string]*list.Element
	// others finds values that are not in recent.
	others map[string]func() (V, bool)
}

// cached is a value in a Cache, and the bytes that it counts for.
type cached[V any] struct {
	id    string
	value V
	bytes int64
}

// NewCache returns an empty cache of at most limit bytes. weaken returns a function that finds a value until nobody
// holds it. A cache of 0 bytes finds nothing.
func NewCache[V any](limit int64, weaken func(V) (find func() (V, bool))) *Cache[V] {
	return &Cache[V]{limit: limit, weaken: weaken, recent: list.New(), byID: map[string]*list.Element{},
		others: map[string]func() (V, bool){}}
}

// Weakly is a weaken function for values that are pointers.
func Weakly[T any](value *T) func() (*T, bool) {
	p := weak.Make(value)
	return func() (*T, bool) { value := p.Value(); return value, value != nil }
}

// Get returns the value of an id, if it is in the cache or others hold it.
func (c *Cache[V]) Get(id string) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byID[id]
	if at == nil {
		if find := c.others[id]; find != nil {
			return find()
		}
		return value, false
	}
	c.recent.MoveToFront(at)
	return at.Value.(*cached[V]).value, true
}

// keeps reports whether the cache itself holds the value of an id.
func (c *Cache[V]) keeps(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[id] != nil
}

// Put adds a value, unless it is larger than the cache, and evicts those that were not used for the longest time. It
// does nothing if the cache has a value of this id.
func (c *Cache[V]) Put(id string, value V, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[id] != nil || c.limit == 0 {
		return
	}
	if bytes > c.limit {
		c.demoteLocked(id, value)
		return
	}
	for c.used+bytes > c.limit {
		evicted := c.removeLocked(c.recent.Back())
		c.demoteLocked(evicted.id, evicted.value)
	}
	delete(c.others, id)
	c.byID[id] = c.recent.PushFront(&cached[V]{id: id, value: value, bytes: bytes})
	c.used += bytes
}

// demoteLocked keeps only a weak reference to a value, and drops weak references to collected values.
func (c *Cache[V]) demoteLocked(id string, value V) {
	maps.DeleteFunc(c.others, func(_ string, find func() (V, bool)) bool { _, found := find(); return !found })
	c.others[id] = c.weaken(value)
}

// Drop removes the value of an id, if it is in the cache.
func (c *Cache[V]) Drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byID[id]; at != nil {
		c.removeLocked(at)
	}
	delete(c.others, id)
}

// removeLocked removes an element and returns it.
func (c *Cache[V]) removeLocked(at *list.Element) *cached[V] {
	old := c.recent.Remove(at).(*cached[V])
	delete(c.byID, old.id)
	c.used -= old.bytes
	return old
}
