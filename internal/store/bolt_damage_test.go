package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"
)

// usedStore is a directory with a store that has 50 entries, and its file.
func usedStore(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	s := embedded(t, dir)
	lead(t, s)
	for i := range 50 {
		commit(t, s, Txn{Put: []Entry{{Key: fmt.Sprintf("key/%02d", i), Value: pattern(1000)}}})
	}
	check(t, s.Close())
	return dir, filepath.Join(dir, boltFile)
}

// wantDamaged checks that a directory cannot be opened, that the error says why and what to do, and that nothing in it
// has changed.
func wantDamaged(t *testing.T, dir, why string) {
	t.Helper()
	before := files(t, dir)
	_, err := OpenEmbedded(t.Context(), dir, nil)
	wantReason(t, err, storeDamaged)
	for _, part := range []string{why, dir, "backup"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error has no %q: %v", part, err)
		}
	}
	if after := files(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%s: the files were %q and are %q", why, before, after)
	}
}

// A file that is cut, emptied or overwritten says so at once, and is left as it is.
func TestEmbeddedFileDamaged(t *testing.T) {
	dir, file := usedStore(t)
	sound, err := os.ReadFile(file)
	check(t, err)
	for why, damaged := range map[string][]byte{
		"it is cut to 0 bytes":    {},
		"it is cut to 5000 bytes": sound[:5000],
		"it is cut to 40001 of ":  sound[:40001],
		"is damaged (":            scratch(sound),
	} {
		check(t, os.WriteFile(file, damaged, 0o600))
		wantDamaged(t, dir, why)
	}
	check(t, os.WriteFile(file, sound, 0o600))
	s := embedded(t, dir) // the failures left no lock behind
	defer s.Close()
	if got := len(list(t, s, "key/", "", 0)); got != 50 {
		t.Errorf("%d of 50 entries are there", got)
	}
}

// scratch returns a copy of which every seventh byte is wrong.
func scratch(sound []byte) []byte {
	damaged := slices.Clone(sound)
	for i := 0; i < len(damaged); i += 7 {
		damaged[i] ^= 0x55
	}
	return damaged
}

// Whatever happens to a part of a file, the store is refused, or says which values are damaged.
func TestEmbeddedPagesDamaged(t *testing.T) {
	dir, file := usedStore(t)
	sound, err := os.ReadFile(file)
	check(t, err)
	s := embedded(t, dir)
	used := int(s.(*boltState).needed.Load())
	check(t, s.Close())
	refused := 0
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 0))
		damaged := slices.Clone(sound)
		at := random.IntN(used)
		end := min(at+1+random.IntN(200), used)
		if seed%2 == 0 { // a page, or the part of one before or after the fault
			end = min(at-at%4096+4096, used)
		}
		for i := at; i < end; i++ {
			damaged[i] = byte(random.UintN(256))
		}
		check(t, os.WriteFile(file, damaged, 0o600))
		s, err := OpenEmbedded(t.Context(), dir, nil)
		if err != nil {
			wantReason(t, err, storeDamaged)
			refused++
			continue
		}
		for _, e := range list(t, s, "key/", "", 0) {
			if e.Damage == nil && string(e.Value) != string(pattern(1000)) {
				t.Errorf("bytes %d to %d are overwritten, and the value of %s is %d other bytes", at, end,
					e.Key, len(e.Value))
			}
		}
		check(t, s.Close())
	}
	if refused == 0 {
		t.Error("no damage was refused")
	}
}

// A value of which a bit flips is damaged, and the others are not. It can be replaced.
func TestEmbeddedValueDamaged(t *testing.T) {
	dir, file := usedStore(t)
	db, err := bbolt.Open(file, 0o600, nil)
	check(t, err)
	check(t, db.Update(func(tx *bbolt.Tx) error {
		key := []byte("key/17")
		value := slices.Clone(tx.Bucket(entriesBucket).Get(key))
		value[500] ^= 4
		return tx.Bucket(entriesBucket).Put(key, value)
	}))
	check(t, db.Close())
	s := embedded(t, dir)
	defer s.Close()
	lead(t, s)
	damaged := slices.DeleteFunc(list(t, s, "key/", "", 0), func(e Entry) bool { return e.Damage == nil })
	if len(damaged) != 1 {
		t.Fatalf("%d values are damaged", len(damaged))
	}
	lost := damaged[0]
	wantReason(t, lost.Damage, ValueDamaged)
	if len(lost.Value) > 0 {
		t.Errorf("what is left of the value is returned: %q", lost.Value)
	}
	_, err = s.Get(t.Context(), lost.Key)
	wantReason(t, err, ValueDamaged)
	commit(t, s, Txn{If: []Condition{{lost.Key, lost.Revision}}, Put: []Entry{{Key: lost.Key, Value: []byte("new")}}})
	if got := string(get(t, s, lost.Key).Value); got != "new" {
		t.Errorf("got %q", got)
	}
}

// A state whose file is cut while it is used says so, and stops leading, whether somebody reads or writes next.
func TestEmbeddedFileCutWhileInUse(t *testing.T) {
	for name, use := range map[string]func(State) error{
		"get":    func(s State) error { _, err := s.Get(t.Context(), "key/07"); return err },
		"list":   func(s State) error { _, err := s.List(t.Context(), "", "", 0); return err },
		"walk":   func(s State) error { _, err := s.Walk(t.Context(), func(Entry) error { return nil }); return err },
		"commit": func(s State) error { _, err := s.Commit(t.Context(), Txn{Delete: []string{"key/07"}}); return err },
	} {
		for _, unnoticed := range []bool{false, true} { // the size is not looked at: reading the map is a fault
			t.Run(fmt.Sprint(name, unnoticed), func(t *testing.T) {
				dir, file := usedStore(t)
				s := embedded(t, dir)
				term := lead(t, s)
				check(t, os.Truncate(file, 8192)) // the meta pages are left
				want := "it was cut to 8192 of "
				if unnoticed {
					s.(*boltState).needed.Store(0)
					want = "a part of it is gone, or its disk cannot be read"
				}
				for range 2 {
					err := use(s)
					wantReason(t, err, storeDamaged)
					if AnswerOf(err) != Failed {
						t.Errorf("not as of a store that failed: %v", err)
					}
					if strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), want) {
						t.Errorf("got %v", err)
					}
				}
				waitLost(t, term)
				check(t, s.Close())
			})
		}
	}
}

// The folder of a program that kept its state in an embedded etcd is not taken for a new one.
func TestEmbeddedFolderOfEtcd(t *testing.T) {
	dir := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(dir, "etcd", "member", "snap"), 0o700))
	for range 2 {
		_, err := OpenEmbedded(t.Context(), dir, nil)
		wantReason(t, err, "STORE_IN_EMBEDDED_ETCD")
		for _, part := range []string{filepath.Join(dir, "etcd"), "embedded etcd", "another data directory"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error has no %q: %v", part, err)
			}
		}
	}
}

// A file that another program has open is not waited for.
func TestEmbeddedFileInUse(t *testing.T) {
	dir, file := usedStore(t)
	db, err := bbolt.Open(file, 0o600, nil)
	check(t, err)
	_, err = OpenEmbedded(t.Context(), dir, nil)
	wantReason(t, err, dirInUse)
	if !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	check(t, db.Close())
	check(t, embedded(t, dir).Close())
}

// A file of another program is not a state.
func TestEmbeddedForeignFile(t *testing.T) {
	dir := t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, boltFile), 0o600, nil)
	check(t, err)
	check(t, db.Close())
	check(t, os.WriteFile(filepath.Join(dir, lockFile), nil, 0o600))
	wantDamaged(t, dir, "it is not a state of Cleave")
}

// Files that we may not read are not damaged.
func TestEmbeddedFilesForbidden(t *testing.T) {
	denied := &os.PathError{Op: "open", Path: "state.db", Err: syscall.EACCES}
	wantReason(t, explainOpen(denied, "dir"), dirUnusable)
	if os.Geteuid() == 0 {
		return // who may read everything
	}
	dir, file := usedStore(t)
	check(t, os.Chmod(file, 0))
	_, err := OpenEmbedded(t.Context(), dir, nil)
	wantReason(t, err, dirUnusable)
}

// What a crash left of a new file is not used.
func TestEmbeddedFileUnfinished(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, newBoltFile), make([]byte, 5000), 0o600))
	check(t, embedded(t, dir).Close())
	if got := len(files(t, dir)); got != 2 {
		t.Errorf("the files are %q", files(t, dir))
	}
}
