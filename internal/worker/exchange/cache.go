package exchange

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// errNotCached is returned for a piece that is not in the cache or is damaged there.
var errNotCached = errors.New("the piece is not in the cache")

// Cache keeps pieces of data sets in a directory, across restarts. A data set has a folder named by its ID, and a
// piece a file named by its number and its SHA-256, by which it is checked. The least recently used data sets are
// evicted first; those in use are never removed. It is safe for concurrent use.
type Cache struct {
	dir   string
	limit int64
	log   hclog.Logger
	lock  io.Closer

	// mu guards the fields below. It is not held while pieces are read or written.
	mu   sync.Mutex
	sets map[string]*cachedSet
	used int64 // bytes of all pieces, including those that are being written
}

// cachedSet is what the cache has of one data set.
type cachedSet struct {
	id     string
	pieces map[int]cachedPiece
	bytes  int64
	users  int
	last   time.Time // when it was used last
}

type cachedPiece struct {
	hash  string // SHA-256, in hexadecimal
	bytes int64
}

var (
	setName   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	pieceName = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.([0-9a-f]{64})$`)
)

// temporary begins the names of files that are being written.
const temporary = ".new-"

// OpenCache opens the cache in a directory, which it creates if necessary. It removes partial files of a
// process that died while writing, and evicts data sets until the rest fits the limit. No other process may use the
// directory.
func OpenCache(dir string, limit int64, log hclog.Logger) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Invalid("BAD_CACHE_DIR", "the cache directory cannot be created: %v", err)
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, fault.Invalid("BAD_CACHE_DIR",
			"the cache directory %s cannot be used: %v; give each worker its own --cache-dir", dir, err)
	}
	c := &Cache{dir: dir, limit: limit, log: log, lock: lock, sets: map[string]*cachedSet{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		lock.Close()
		return nil, fault.Invalid("BAD_CACHE_DIR", "the cache directory cannot be read: %v", err)
	}
	for _, e := range entries {
		if e.IsDir() && setName.MatchString(e.Name()) {
			c.load(e.Name())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeRoomLocked(0)
	return c, nil
}

// Close releases the directory.
func (c *Cache) Close() error { return c.lock.Close() }

// load finds the pieces of a data set, and removes what is not one.
func (c *Cache) load(id string) {
	folder := filepath.Join(c.dir, id)
	files, err := os.ReadDir(folder)
	if err != nil {
		c.log.Warn("a folder of the cache cannot be read", "folder", folder, "error", err)
		return
	}
	set := &cachedSet{id: id, pieces: map[int]cachedPiece{}}
	for _, f := range files {
		match := pieceName.FindStringSubmatch(f.Name())
		info, err := f.Info()
		if match == nil || err != nil || !info.Mode().IsRegular() || info.Size() > wire.PieceBytes {
			if strings.HasPrefix(f.Name(), temporary) || match != nil {
				_ = os.Remove(filepath.Join(folder, f.Name()))
			}
			continue
		}
		piece, _ := strconv.Atoi(match[1])
		if _, twice := set.pieces[piece]; twice {
			_ = os.Remove(filepath.Join(folder, f.Name()))
			continue
		}
		set.pieces[piece] = cachedPiece{match[2], info.Size()}
		set.bytes += info.Size()
	}
	if info, err := os.Stat(folder); err == nil {
		set.last = info.ModTime()
	}
	c.sets[id] = set
	c.used += set.bytes
}

// Use keeps what there is of a data set, and what is added, until release is called. It returns the pieces that there
// are, in order. A name that is not the ID of a data set is not cached.
func (c *Cache) Use(id string) (pieces []int, release func()) {
	if !setName.MatchString(id) {
		return nil, func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.sets[id]
	if set == nil {
		set = &cachedSet{id: id, pieces: map[int]cachedPiece{}}
		c.sets[id] = set
	}
	set.users++
	return slices.Sorted(maps.Keys(set.pieces)), sync.OnceFunc(func() {
		now := time.Now()
		_ = os.Chtimes(filepath.Join(c.dir, id), now, now) // for the order after a restart
		c.mu.Lock()
		defer c.mu.Unlock()
		set.last = now
		if set.users--; set.users == 0 && len(set.pieces) == 0 {
			delete(c.sets, id)
			_ = os.Remove(filepath.Join(c.dir, id))
		}
	})
}

// Put stores a piece of a data set that is in use. It fails if the disk is full, or if everything else in the cache is
// in use as well.
func (c *Cache) Put(id string, piece int, hash [sha256.Size]byte, data []byte) error {
	added := cachedPiece{hex.EncodeToString(hash[:]), int64(len(data))}
	if err := c.reserve(id, piece, added.bytes); err != nil {
		return err
	}
	err := c.write(c.path(id, piece, added.hash), data)
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.sets[id]
	if err != nil {
		c.used -= added.bytes
		return err
	}
	if old, there := set.pieces[piece]; there { // two transfers at the same time
		if old.hash != added.hash { // of two versions, which have a file each
			_ = os.Remove(c.path(id, piece, added.hash))
		}
		c.used -= added.bytes
		return nil
	}
	set.pieces[piece] = added
	set.bytes += added.bytes
	return nil
}

// reserve makes room for a piece and counts it.
func (c *Cache) reserve(id string, piece int, bytes int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.sets[id]
	if set == nil || set.users == 0 {
		return fmt.Errorf("piece %d of data set %s is stored while nobody uses the data set", piece, id)
	}
	if old, there := set.pieces[piece]; there { // it was damaged, or it is another version
		c.forgetLocked(set, piece, old)
	}
	if !c.makeRoomLocked(bytes) {
		return fmt.Errorf("%s of data sets are in use, and --cache-size allows %s", text.Bytes(c.used),
			text.Bytes(c.limit))
	}
	c.used += bytes
	return nil
}

// makeRoomLocked removes unused data sets until there is room for this many bytes.
func (c *Cache) makeRoomLocked(bytes int64) bool {
	if c.used+bytes <= c.limit {
		return true
	}
	unused := slices.DeleteFunc(slices.Collect(maps.Values(c.sets)), func(s *cachedSet) bool { return s.users > 0 })
	slices.SortFunc(unused, func(a, b *cachedSet) int {
		return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.id, b.id))
	})
	for _, set := range unused {
		if c.used+bytes <= c.limit {
			break
		}
		c.removeSetLocked(set)
	}
	return c.used+bytes <= c.limit
}

// removeSetLocked removes all pieces of a data set. The caller holds c.mu.
func (c *Cache) removeSetLocked(set *cachedSet) {
	for piece, p := range set.pieces {
		c.forgetLocked(set, piece, p)
	}
	if set.users == 0 {
		delete(c.sets, set.id)
		_ = os.Remove(filepath.Join(c.dir, set.id))
	}
}

// forgetLocked removes a piece. The caller holds c.mu.
func (c *Cache) forgetLocked(set *cachedSet, piece int, p cachedPiece) {
	if err := os.Remove(c.path(set.id, piece, p.hash)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("a file of the cache cannot be removed", "error", err)
	}
	delete(set.pieces, piece)
	set.bytes -= p.bytes
	c.used -= p.bytes
}

// Drop removes all pieces of a data set.
func (c *Cache) Drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if set := c.sets[id]; set != nil {
		c.removeSetLocked(set)
	}
}

// Has reports whether there is a piece. It may be damaged.
func (c *Cache) Has(id string, piece int) bool {
	_, there := c.find(id, piece)
	return there
}

func (c *Cache) find(id string, piece int) (p cachedPiece, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if set := c.sets[id]; set != nil {
		p, there = set.pieces[piece]
	}
	return p, there
}

// Get reads a piece into a buffer, which must have room for it. With check it verifies the hash of the piece; callers
// that verify the whole data set need not. A damaged piece is removed. Get returns errNotCached if there is no such
// piece.
func (c *Cache) Get(id string, piece int, buffer []byte, check bool) ([]byte, error) {
	p, there := c.find(id, piece)
	if !there || p.bytes > int64(cap(buffer)) {
		return nil, errNotCached
	}
	data, err := readAll(c.path(id, piece, p.hash), buffer[:p.bytes])
	if err == nil {
		if !check {
			return data, nil
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) == p.hash {
			return data, nil
		}
		err = errors.New("its bytes have changed")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if set := c.sets[id]; set != nil && set.pieces[piece] == p { // nobody has replaced or evicted it meanwhile
		c.log.Warn("a piece in the cache is damaged; it is fetched again when it is needed", "dataset", id,
			"piece", piece, "error", err)
		c.forgetLocked(set, piece, p)
	}
	return nil, errNotCached
}

func (c *Cache) path(id string, piece int, hash string) string {
	return filepath.Join(c.dir, id, strconv.Itoa(piece)+"."+hash)
}

// readAll reads a file that must have the size of the buffer.
func readAll(path string, buffer []byte) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = io.ReadFull(f, buffer)
	return buffer, err
}

// write writes a file that is never seen incomplete while this process lives. What a crash of the machine leaves of
// it is found by its hash.
func (c *Cache) write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), temporary+"*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
