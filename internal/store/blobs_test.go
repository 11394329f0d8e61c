package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/store/seal"
)

// TestBlobs checks that every kind of Blobs behaves the same.
func TestBlobs(t *testing.T) {
	cases := map[string]func(*testing.T, Blobs){
		"round trip":         testBlobRoundTrip,
		"write once":         testBlobWriteOnce,
		"concurrent puts":    testBlobConcurrentPuts,
		"failing writer":     testBlobFailingWriter,
		"panicking writer":   testBlobPanickingWriter,
		"canceled":           testBlobCanceled,
		"ranges":             testBlobRanges,
		"absent":             testBlobAbsent,
		"listing":            testBlobListing,
		"names":              testBlobNames,
		"after closing":      testBlobClosed,
		"hidden until ready": testBlobHidden,
	}
	for kind, where := range map[string]func(*testing.T) string{
		"memory":    func(*testing.T) string { return "mem://" },
		"directory": func(t *testing.T) string { return filepath.Join(t.TempDir(), "new", "dir") },
		"file URL":  func(t *testing.T) string { return "file://" + filepath.Join(t.TempDir(), "new dir") },
	} {
		for what, run := range cases {
			for how, through := range map[string]func(Blobs) Blobs{
				"": func(b Blobs) Blobs { return b }, "/stalling": func(b Blobs) Blobs {
					return WithStallTimeout(b, testTimeout, hclog.NewNullLogger())
				},
			} {
				t.Run(kind+"/"+what+how, func(t *testing.T) {
					b, err := OpenBlobs(t.Context(), where(t))
					check(t, err)
					b = through(b)
					run(t, b)
					if what != "after closing" {
						check(t, b.Close())
					}
				})
			}
		}
	}
}

func testBlobRoundTrip(t *testing.T, b Blobs) {
	for _, size := range []int{0, 1, 511, 512, 513, seal.BlockBytes - 1, seal.BlockBytes, seal.BlockBytes + 1,
		3 * seal.BlockBytes, 3*seal.BlockBytes + 7} {
		name := fmt.Sprintf("sizes/%d", size)
		content := pattern(size)
		put(t, b, name, content)
		if got := read(t, b, name, 0, -1); !bytes.Equal(got, content) {
			t.Errorf("%d bytes come back as %d, or changed", size, len(got))
		}
		if got, err := b.Size(t.Context(), name); err != nil || got != int64(size) {
			t.Errorf("Size(%s) = %d, %v", name, got, err)
		}
	}
}

func testBlobWriteOnce(t *testing.T, b Blobs) {
	put(t, b, "jobs/1/labels", []byte("first"))
	err := b.Put(t.Context(), "jobs/1/labels", func(io.Writer) error {
		t.Error("the content was asked for although the name is taken")
		return nil
	})
	wantIs(t, err, ErrExists)
	if got := read(t, b, "jobs/1/labels", 0, -1); string(got) != "first" {
		t.Fatalf("the blob became %q", got)
	}
}

// testBlobConcurrentPuts: of several writers that all found the name free, exactly one succeeds.
func testBlobConcurrentPuts(t *testing.T, b Blobs) {
	const writers = 8
	var ready, group sync.WaitGroup
	var winner atomic.Int64
	ready.Add(writers)
	for i := range int64(writers) {
		group.Go(func() {
			err := b.Put(t.Context(), "contested", func(w io.Writer) error {
				ready.Done()
				ready.Wait() // all write before the first publishes
				_, err := fmt.Fprint(w, i+1)
				return err
			})
			if err == nil && !winner.CompareAndSwap(0, i+1) {
				t.Error("two writers succeeded")
			}
			if err != nil && !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := string(read(t, b, "contested", 0, -1)); got != fmt.Sprint(winner.Load()) {
		t.Errorf("%d succeeded, the content is %s's", winner.Load(), got)
	}
	onlyBlobs(t, b, "contested")
}

func testBlobFailingWriter(t *testing.T, b Blobs) {
	broken := errors.New("broken")
	err := b.Put(t.Context(), "jobs/1/labels", func(w io.Writer) error {
		_, err := w.Write(pattern(2 * seal.BlockBytes))
		return errors.Join(broken, err)
	})
	wantIs(t, err, broken)
	onlyBlobs(t, b)
	put(t, b, "jobs/1/labels", []byte("the name is still free"))
}

func testBlobPanickingWriter(t *testing.T, b Blobs) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = b.Put(t.Context(), "x", func(w io.Writer) error {
			_, _ = w.Write(pattern(2 * seal.BlockBytes))
			panic("writer")
		})
	}()
	onlyBlobs(t, b)
	put(t, b, "x", nil)
}

func testBlobCanceled(t *testing.T, b Blobs) {
	ctx, cancel := context.WithCancel(t.Context())
	err := b.Put(ctx, "x", func(w io.Writer) error {
		_, err := w.Write(pattern(10))
		cancel()
		return err
	})
	wantIs(t, err, context.Canceled)
	onlyBlobs(t, b)
}

func testBlobRanges(t *testing.T, b Blobs) {
	content := pattern(1000)
	put(t, b, "x", content)
	for _, r := range []struct{ offset, length, from, to int64 }{
		{0, -1, 0, 1000}, {0, 1000, 0, 1000}, {10, 5, 10, 15}, {10, -1, 10, 1000}, {999, 1, 999, 1000},
		{990, 100, 990, 1000}, {1000, -1, 0, 0}, {1000, 10, 0, 0}, {500, 0, 0, 0},
	} {
		if got := read(t, b, "x", r.offset, r.length); !bytes.Equal(got, content[r.from:r.to]) {
			t.Errorf("%d bytes from %d: got %d bytes, want %d", r.length, r.offset, len(got), r.to-r.from)
		}
	}
	for _, r := range [][2]int64{{-1, 5}, {0, -2}} {
		if _, err := b.Open(t.Context(), "x", r[0], r[1]); err == nil {
			t.Errorf("%d bytes from %d can be read", r[1], r[0])
		}
	}
}

func testBlobAbsent(t *testing.T, b Blobs) {
	put(t, b, "a/b", nil)
	for _, name := range []string{"x", "a/c"} {
		_, err := b.Open(t.Context(), name, 0, -1)
		wantIs(t, err, ErrNotFound)
		_, err = b.Size(t.Context(), name)
		wantIs(t, err, ErrNotFound)
		wantIs(t, b.Delete(t.Context(), name), ErrNotFound)
	}
	check(t, b.Delete(t.Context(), "a/b"))
	_, err := b.Open(t.Context(), "a/b", 0, -1)
	wantIs(t, err, ErrNotFound)
}

func testBlobListing(t *testing.T, b Blobs) {
	all := []string{"a-b", "a.b", "a/a", "a/b/c", "a0", "b", "b_1/x"}
	for _, i := range []int{4, 2, 6, 0, 1, 5, 3} {
		put(t, b, all[i], nil)
	}
	for prefix, want := range map[string][]string{
		"": all, "a": all[:5], "a/": all[2:4], "a/b": all[3:4], "a/b/": all[3:4], "a/b/c": all[3:4], "c": nil,
		"c/d": nil, "b_": all[6:],
	} {
		got, err := b.List(t.Context(), prefix)
		if check(t, err); !slices.Equal(got, want) {
			t.Errorf("List(%q) = %q, want %q", prefix, got, want)
		}
	}
	for _, prefix := range []string{"/", "..", "../", "a/../"} {
		_, err := b.List(t.Context(), prefix)
		wantReason(t, err, "BLOB_NAME_INVALID")
	}
}

func testBlobNames(t *testing.T, b Blobs) {
	for _, name := range []string{"", ".", "..", "../x", "a/../b", "a/..", "/a", "a/", "a//b", "a/./b",
		".hidden", "A", "a b",
		`a\b`, "a\x00", "a\n", "ä", "x.tmp", "x.tmp/y", "x.sealed", "-rf", "_",
		strings.Repeat("a", maxPartLength+1), strings.Repeat("a/", maxNameLength/2) + "a"} {
		err := b.Put(t.Context(), name, func(io.Writer) error {
			t.Errorf("%q was written", name)
			return nil
		})
		wantReason(t, err, "BLOB_NAME_INVALID")
		_, err = b.Open(t.Context(), name, 0, -1)
		wantReason(t, err, "BLOB_NAME_INVALID")
		_, err = b.Size(t.Context(), name)
		wantReason(t, err, "BLOB_NAME_INVALID")
		wantReason(t, b.Delete(t.Context(), name), "BLOB_NAME_INVALID")
	}
	good := []string{strings.Repeat("a", maxPartLength), "0", "a..b", "a_b",
		"jobs/6f9619ff-8b86-d011-b42d-00cf4fc964ff/17/labels.npy"}
	for _, name := range good {
		put(t, b, name, []byte(name))
		if got := string(read(t, b, name, 0, -1)); got != name {
			t.Errorf("%q holds %q", name, got)
		}
	}
}

func testBlobClosed(t *testing.T, b Blobs) {
	check(t, b.Close())
	err := b.Put(t.Context(), "x", func(io.Writer) error { return nil })
	if err == nil || errors.Is(err, ErrExists) || errors.Is(err, ErrNotFound) {
		t.Errorf("Put after Close gives %v", err)
	}
}

func testBlobHidden(t *testing.T, b Blobs) {
	check(t, b.Put(t.Context(), "x", func(w io.Writer) error {
		_, err := w.Write(pattern(2 * seal.BlockBytes))
		if _, openErr := b.Open(t.Context(), "x", 0, -1); !errors.Is(openErr, ErrNotFound) {
			t.Errorf("a blob can be opened while it is written: %v", openErr)
		}
		if names, _ := b.List(t.Context(), ""); len(names) > 0 {
			t.Errorf("a blob that is being written is listed: %q", names)
		}
		return err
	}))
	onlyBlobs(t, b, "x")
}

// A file that cannot be inspected may exist.
func TestAFileThatCannotBeInspectedIsNotMissing(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	d := &directory{root: dir}
	_, sizeErr := d.size(t.Context(), "file/blob") // what is not a directory has no files
	_, openErr := d.open(t.Context(), "file/blob", 0, -1)
	for _, err := range []error{sizeErr, openErr} {
		if err == nil || !AnswerOf(blobError("blob", err)).MayPass() {
			t.Errorf("got %v", err)
		}
	}
}

func TestBlobsStayInTheirDirectory(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time the blob exists
		b, err := OpenBlobs(t.Context(), filepath.Join(dir, "blobs"))
		check(t, err)
		if err := b.Put(t.Context(), "jobs/1", func(w io.Writer) error { return nil }); err != nil {
			wantIs(t, err, ErrExists)
		}
		onlyBlobs(t, b, "jobs/1")
		check(t, b.Close())
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside the blobs there is %v (%v)", entries, err)
	}
}

func TestBlobsRemoveTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	b, err := OpenBlobs(t.Context(), dir)
	check(t, err)
	defer b.Close()
	put(t, b, "sub/kept", nil)
	for _, name := range []string{"x.17ab.tmp", "sub/y.17ab.tmp"} {
		path := filepath.Join(dir, name)
		before := time.Now().Add(-time.Second)
		check(t, os.WriteFile(path, nil, 0o600))
		check(t, os.Chtimes(path, before, before))
	}
	now := filepath.Join(dir, "z.17ab.tmp")
	check(t, os.WriteFile(now, nil, 0o600))
	onlyListed, err := b.List(t.Context(), "")
	if check(t, err); !slices.Equal(onlyListed, []string{"sub/kept"}) {
		t.Errorf("listed %q", onlyListed)
	}
	b.RemoveTemporary(t.Context())
	check(t, os.Remove(now)) // what is being written now stays
	onlyBlobs(t, b, "sub/kept")
}

// Blobs that are gone leave no directories, nor do those that never came to be.
func TestBlobsLeaveNoDirectories(t *testing.T) {
	root := t.TempDir()
	b, err := OpenBlobs(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	content := func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }
	found := func() (all []string) {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			all = append(all, path[len(root):])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all[1:]
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(b.Put(t.Context(), "jobs/1/2.0/labels", content))
	must(b.Put(t.Context(), "jobs/1/spec", content))
	must(b.Delete(t.Context(), "jobs/1/2.0/labels"))
	if got := found(); !slices.Equal(got, []string{"/jobs", "/jobs/1", "/jobs/1/spec.sealed"}) {
		t.Errorf("beside the spec there is %q", got)
	}
	must(b.Delete(t.Context(), "jobs/1/spec"))
	failed := errors.New("cut")
	if err := b.Put(t.Context(), "tables/1/2", func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if got := found(); len(got) > 0 {
		t.Errorf("left: %q", got)
	}
	must(os.MkdirAll(filepath.Join(root, "jobs", "of", "earlier"), 0o700))
	b.RemoveTemporary(t.Context())
	if got := found(); len(got) > 0 {
		t.Errorf("left after the start: %q", got)
	}
}

// A directory is not removed under a blob that is being written into it.
func TestDirectoriesOfBlobsComeAndGo(t *testing.T) {
	b, err := OpenBlobs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var all sync.WaitGroup
	for at := range 4 {
		all.Go(func() {
			name := fmt.Sprintf("datasets/same/%d", at)
			for range 50 {
				if err := b.Put(t.Context(), name, func(io.Writer) error { return nil }); err != nil {
					t.Error(err)
				}
				if err := b.Delete(t.Context(), name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestOpenBlobsRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for where, want := range map[string]string{
		"":                       "BLOBS_URL_INVALID",
		"file://":                "BLOBS_URL_INVALID",
		"file://relative/dir":    "BLOBS_URL_INVALID",
		"file:///dir?metadata=x": "BLOBS_URL_INVALID",
		"%://":                   "BLOBS_URL_INVALID",
		"azblob://container":     "BLOBS_SCHEME_UNSUPPORTED",
		file:                     "BLOBS_DIR_UNUSABLE",
		file + "/below":          "BLOBS_DIR_UNUSABLE",
	} {
		_, err := OpenBlobs(t.Context(), where)
		wantReason(t, err, want)
	}
}

func pattern(size int) []byte {
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i * 31 >> 3)
	}
	return content
}

func put(t *testing.T, b Blobs, name string, content []byte) {
	t.Helper()
	check(t, b.Put(t.Context(), name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}))
}

func read(t *testing.T, b Blobs, name string, offset, length int64) []byte {
	t.Helper()
	r, err := b.Open(t.Context(), name, offset, length)
	check(t, err)
	content, err := io.ReadAll(r)
	check(t, err)
	check(t, r.Close())
	return content
}

// onlyBlobs checks that the bucket, and its directory, contain exactly these blobs.
func onlyBlobs(t *testing.T, b Blobs, want ...string) {
	t.Helper()
	if got, err := b.List(t.Context(), ""); err != nil || !slices.Equal(got, want) {
		t.Errorf("the bucket holds %q (%v), want %q", got, err, want)
	}
	if guard, is := b.(*stallGuard); is {
		b = guard.Blobs
	}
	if local, is := b.(*sealedBlobs).bucket.(*directory); is {
		var sealed []string
		for _, name := range want {
			sealed = append(sealed, name+seal.Suffix)
		}
		if got := files(t, local.root); !slices.Equal(got, sealed) {
			t.Errorf("the directory holds %q, want %q", got, sealed)
		}
	}
}

func files(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	check(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(relative))
		}
		return err
	}))
	return found
}

// A file that is being written stays, even if the clock of its file server is behind; one that another process left
// does not.
func TestTemporaryFilesBeingWrittenStay(t *testing.T) {
	dir := t.TempDir()
	b, err := OpenBlobs(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	behind := time.Now().Add(-time.Minute)
	left := filepath.Join(dir, "left"+tempSuffix)
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = b.Put(t.Context(), "a/blob", func(w io.Writer) error {
		if _, err := w.Write([]byte("first")); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, "a", "*"+tempSuffix))
		if err != nil || len(files) != 1 {
			t.Errorf("the temporary files are %v: %v", files, err)
		}
		for _, file := range append(files, left) {
			if err := os.Chtimes(file, behind, behind); err != nil {
				t.Error(err)
			}
		}
		b.RemoveTemporary(t.Context())
		_, err = w.Write([]byte(" and last"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file that another process left: %v", err)
	}
}
