package store

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// sealedBlob is a blob in a directory, and its file.
func sealedBlob(t *testing.T, name string, content []byte) (Blobs, string) {
	t.Helper()
	dir := t.TempDir()
	b, err := OpenBlobs(t.Context(), dir)
	check(t, err)
	t.Cleanup(func() { check(t, b.Close()) })
	put(t, b, name, content)
	return b, filepath.Join(dir, filepath.FromSlash(name)+seal.Suffix)
}

// readAll reads a range, and what was handed out before an error.
func readAll(t *testing.T, b Blobs, name string, offset, length int64) ([]byte, error) {
	t.Helper()
	r, err := b.Open(t.Context(), name, offset, length)
	check(t, err)
	defer r.Close()
	return io.ReadAll(r)
}

// Whatever bit is flipped, and wherever a blob is cut, the damage is noticed, and all that was handed out before is
// what was written.
func TestDamageIsNoticed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 1000, seal.BlockBytes - 1, seal.BlockBytes, seal.BlockBytes + 1,
		3*seal.BlockBytes + 500} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(random.Uint32())
		}
		b, file := sealedBlob(t, "jobs/1/labels", content)
		sound, err := os.ReadFile(file)
		check(t, err)
		for range 40 {
			damaged := bytes.Clone(sound)
			switch at := random.IntN(len(damaged)); random.IntN(3) {
			case 0:
				damaged = damaged[:at]
			case 1:
				damaged = append(damaged, make([]byte, 1+random.IntN(2*seal.BlockBytes))...)
			default:
				damaged[at] ^= 1 << random.IntN(8)
			}
			check(t, os.WriteFile(file, damaged, 0o600))
			got, err := readAll(t, b, "jobs/1/labels", 0, -1)
			f, is := err.(*fault.Error)
			if !is || f.Kind != fault.DataLoss || f.Reason != BlobDamaged || f.Metadata["blob"] != "jobs/1/labels" {
				t.Fatalf("%d bytes that are damaged are read with %v", size, err)
			}
			if !bytes.HasPrefix(content, got) {
				t.Fatal("bytes were handed out that nobody wrote")
			}
		}
	}
}

func TestBlobsCutBetweenBlocks(t *testing.T) {
	content := pattern(2*seal.BlockBytes + 10)
	b, file := sealedBlob(t, "x", content)
	for _, size := range []int64{0, seal.FrameBytes, 2 * seal.FrameBytes} {
		check(t, os.Truncate(file, size))
		_, err := readAll(t, b, "x", 0, -1)
		wantReason(t, err, BlobDamaged)
		_, err = b.Size(t.Context(), "x")
		wantReason(t, err, BlobDamaged)
		put(t, b, "y", nil) // others are not affected
		check(t, b.Delete(t.Context(), "y"))
		check(t, b.Delete(t.Context(), "x"))
		put(t, b, "x", content)
	}
}

func TestExchangedBlobsAndBlocks(t *testing.T) {
	b, one := sealedBlob(t, "one", bytes.Repeat([]byte("1"), 3*seal.BlockBytes))
	put(t, b, "two", bytes.Repeat([]byte("2"), 3*seal.BlockBytes))
	sound, err := os.ReadFile(one)
	check(t, err)
	check(t, os.Rename(filepath.Join(filepath.Dir(one), "two"+seal.Suffix), one))
	_, err = readAll(t, b, "one", 0, -1)
	wantReason(t, err, BlobDamaged)
	check(t, os.WriteFile(one, append(sound[seal.FrameBytes:2*seal.FrameBytes:2*seal.FrameBytes],
		append(sound[:seal.FrameBytes:seal.FrameBytes], sound[2*seal.FrameBytes:]...)...), 0o600))
	_, err = readAll(t, b, "one", 0, -1)
	wantReason(t, err, BlobDamaged)
}

// A range is the same slice of the content, and needs only its own blocks to be sound.
func TestRangesOfSealedBlobs(t *testing.T) {
	content := pattern(4*seal.BlockBytes + 99)
	b, file := sealedBlob(t, "x", content)
	random := rand.New(rand.NewPCG(3, 4))
	ranges := [][2]int{{0, seal.BlockBytes}, {seal.BlockBytes, seal.BlockBytes}, {seal.BlockBytes - 1, 2},
		{4 * seal.BlockBytes, 99}, {1, 3 * seal.BlockBytes}}
	for range 50 {
		from := random.IntN(len(content))
		ranges = append(ranges, [2]int{from, random.IntN(len(content) - from + 1)})
	}
	for _, r := range ranges {
		if got := read(t, b, "x", int64(r[0]), int64(r[1])); !bytes.Equal(got, content[r[0]:r[0]+r[1]]) {
			t.Errorf("%d bytes from %d are not those of the content", r[1], r[0])
		}
	}
	damaged, err := os.ReadFile(file)
	check(t, err)
	damaged[2*seal.FrameBytes+5] ^= 4 // in block 2
	check(t, os.WriteFile(file, damaged, 0o600))
	for _, r := range ranges {
		touched := r[1] > 0 && r[0]/seal.BlockBytes <= 2 && (r[0]+r[1]-1)/seal.BlockBytes >= 2
		got, err := readAll(t, b, "x", int64(r[0]), int64(r[1]))
		if touched != fault.Is(err, BlobDamaged) || !touched && !bytes.Equal(got, content[r[0]:r[0]+r[1]]) {
			t.Errorf("%d bytes from %d: %v", r[1], r[0], err)
		}
	}
}

func BenchmarkReadSealed(b *testing.B) {
	blobs, err := OpenBlobs(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer blobs.Close()
	content := pattern(64 << 20)
	if err := blobs.Put(b.Context(), "x", func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		r, err := blobs.Open(b.Context(), "x", 0, -1)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); n != int64(len(content)) || err != nil {
			b.Fatal(n, err)
		}
		r.Close()
	}
}
