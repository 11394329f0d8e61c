package store

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

// FuzzUnseal reads a range of a stored blob of any bytes. What comes out was checked: a blob that is not as it was
// sealed gives BLOB_DAMAGED, or the part of it that still is.
func FuzzUnseal(f *testing.F) {
	const name = "jobs/1/labels"
	content := bytes.Repeat([]byte("0123456789abcdef"), 5000) // more than a block
	var sealed bytes.Buffer
	s := seal.NewWriter(name, &sealed)
	if _, err := s.Write(content); err != nil {
		f.Fatal(err)
	}
	if err := s.Finish(); err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{}, int64(0), int64(-1))
	f.Add(uint32(7), []byte{1}, int64(0), int64(100))
	f.Add(uint32(66000), []byte("xyz"), int64(65000), int64(2000))
	f.Add(uint32(80008), []byte{}, int64(79990), int64(100))
	f.Fuzz(func(t *testing.T, at uint32, other []byte, offset, length int64) {
		if offset < 0 || length < -1 || offset > int64(len(content)) || length > 1<<20 {
			return
		}
		stored := bytes.Clone(sealed.Bytes())
		stored = append(stored[:min(int(at), len(stored))],
			append(bytes.Clone(other), stored[min(int(at)+len(other), len(stored)):]...)...)
		from, size := seal.Range(offset, length)
		stored = stored[min(from, int64(len(stored))):]
		if size >= 0 {
			stored = stored[:min(size, int64(len(stored)))]
		}
		got, err := io.ReadAll(seal.NewReader(name, io.NopCloser(bytes.NewReader(stored)), offset, length, blobError))
		if damage := (*fault.Error)(nil); err != nil && (!errors.As(err, &damage) || damage.Reason != BlobDamaged) {
			t.Fatalf("got %v", err)
		}
		want := content[offset:]
		if length >= 0 {
			want = want[:min(length, int64(len(want)))]
		}
		if !bytes.HasPrefix(want, got) || err == nil && len(got) != len(want) {
			t.Fatalf("%d bytes, %v, which are not those that were stored", len(got), err)
		}
	})
}
