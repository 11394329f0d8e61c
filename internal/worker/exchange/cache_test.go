package exchange

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/cleave-project/cleave/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// datasetID returns the id of a data set by number.
func datasetID(n int) string { return fmt.Sprintf("%064x", n) }

func openCache(t testing.TB, dir string, limit int64) *Cache {
	t.Helper()
	c, err := OpenCache(dir, limit, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func put(t testing.TB, c *Cache, id string, piece int, data []byte) error {
	t.Helper()
	return c.Put(id, piece, sha256.Sum256(data), data)
}

func get(c *Cache, id string, piece int) []byte {
	data, err := c.Get(id, piece, make([]byte, 1000), true)
	if err != nil {
		return nil
	}
	return data
}

func TestCacheKeepsPiecesAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, 1<<20)
	_, release := c.Use(datasetID(1))
	want := []byte("a piece")
	if err := put(t, c, datasetID(1), 3, want); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCache(dir, 1<<20, hclog.NewNullLogger()); !fault.Is(err, "BAD_CACHE_DIR") ||
		!strings.Contains(err.Error(), "another worker") {
		t.Errorf("a second process opens the directory: %v", err)
	}
	release()
	_ = c.Close()
	leftover := filepath.Join(dir, datasetID(1), temporary+"123")
	foreign := filepath.Join(dir, "notes.txt")
	for _, file := range []string{leftover, foreign} {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c = openCache(t, dir, 1<<20)
	held, release := c.Use(datasetID(1))
	defer release()
	if len(held) != 1 || held[0] != 3 || !bytes.Equal(get(c, datasetID(1), 3), want) {
		t.Errorf("after a restart it has %v", held)
	}
	if _, err := os.Stat(leftover); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was not complete: %v", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file that is not of the cache: %v", err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, datasetID(1), "3.*"))
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestCacheRemovesWhatIsDamaged(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, 1<<20)
	_, release := c.Use(datasetID(1))
	defer release()
	for damage, change := range map[string]func(string) error{
		"a bit":     func(f string) error { return os.WriteFile(f, []byte("b piece"), 0o600) },
		"its end":   func(f string) error { return os.Truncate(f, 3) },
		"all of it": os.Remove,
	} {
		if err := put(t, c, datasetID(1), 0, []byte("a piece")); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, datasetID(1), "0.*"))
		if err := change(files[0]); err != nil {
			t.Fatal(err)
		}
		if got := get(c, datasetID(1), 0); got != nil {
			t.Errorf("without %s: %q", damage, got)
		}
		if c.used != 0 {
			t.Errorf("without %s: %d bytes are used", damage, c.used)
		}
	}
}

// The cache never exceeds its limit, never loses what is in use, and removes what was unused for longest.
func TestCacheEvicts(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		const limit = 1000
		c := openCache(t, dir, limit)
		inUse, stored := map[int]func(){}, map[[2]int][]byte{}
		for range 100 {
			n := random.IntN(6)
			switch release := inUse[n]; {
			case release == nil:
				_, inUse[n] = c.Use(datasetID(n))
			case random.IntN(3) == 0:
				release()
				delete(inUse, n)
			default:
				data := make([]byte, 1+random.IntN(200))
				data[0] = byte(random.Int())
				piece := [2]int{n, random.IntN(4)}
				if put(t, c, datasetID(n), piece[1], data) == nil {
					stored[piece] = data
				} else {
					delete(stored, piece)
				}
			}
			if c.used > limit {
				t.Fatalf("seed %d: %d bytes", seed, c.used)
			}
			for piece, want := range stored {
				got := get(c, datasetID(piece[0]), piece[1])
				if inUse[piece[0]] != nil && !bytes.Equal(got, want) {
					t.Fatalf("seed %d: piece %v in use has %d bytes instead of %d", seed, piece, len(got), len(want))
				}
				if got == nil {
					delete(stored, piece)
				} else if !bytes.Equal(got, want) {
					t.Fatalf("seed %d: piece %v has other bytes", seed, piece)
				}
			}
		}
		used := c.used
		_ = c.Close()
		if again := openCache(t, dir, limit); again.used != used {
			t.Errorf("seed %d: %d bytes, and %d after a restart", seed, used, again.used)
		}
	}
}

func TestCacheRemovesTheLongestUnused(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, 1<<20)
	now := time.Now()
	for n := range 3 {
		_, release := c.Use(datasetID(n))
		if err := put(t, c, datasetID(n), 0, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		release()
		then := now.Add(time.Duration(-n) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, datasetID(n)), then, then); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Close()
	c = openCache(t, dir, 250)
	for n := range 3 {
		if got := get(c, datasetID(n), 0); (got == nil) != (n == 2) {
			t.Errorf("data set %d has %d bytes", n, len(got))
		}
	}
}

// Of versions of one piece that are stored at the same time, one stays, and no file that is not counted.
func TestCacheKeepsOneVersionOfAPiece(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, 1<<30)
	_, release := c.Use(datasetID(1))
	defer release()
	const versions = 8
	for piece := range 8 {
		var puts sync.WaitGroup
		for version := range versions {
			puts.Go(func() {
				if err := put(t, c, datasetID(1), piece, bytes.Repeat([]byte{byte(version)}, 100)); err != nil {
					t.Error(err)
				}
			})
		}
		puts.Wait()
		if get(c, datasetID(1), piece) == nil {
			t.Errorf("there is no piece %d", piece)
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, datasetID(1)))
	if err != nil || len(files) != 8 || c.used != 8*100 {
		t.Errorf("%d bytes are counted, and there are %d files: %v", c.used, len(files), err)
	}
}

// Names that are not ids of data sets never become files.
func TestCacheOfOtherNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := openCache(t, dir, 1<<20)
	for _, id := range []string{"", "..", "../x", strings.Repeat("A", 64), "/etc"} {
		held, release := c.Use(id)
		if err := put(t, c, id, 0, []byte("x")); err == nil || len(held) > 0 || get(c, id, 0) != nil {
			t.Errorf("%q is cached", id)
		}
		release()
		c.Drop(id)
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
		t.Error(err)
	}
}
