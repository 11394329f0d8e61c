package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// stores are a state, which is led, and blobs.
type stores struct {
	state store.State
	blobs store.Blobs
}

func newStores(t testing.TB) stores {
	t.Helper()
	state := store.NewMemory()
	t.Cleanup(func() { state.Close() })
	if _, err := state.Lead(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	blobs, err := store.OpenBlobs(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	return stores{state, blobs}
}

func (s stores) commit(txn store.Txn) error {
	_, err := s.state.Commit(context.Background(), txn)
	return err
}

func (s stores) target() Target {
	taken := func(context.Context) error { return nil }
	return Target{State: s.state, Blobs: s.blobs, Commit: s.commit, TakeBlobs: taken}
}

func (s stores) put(t testing.TB, key, value string) {
	t.Helper()
	if err := s.commit(store.Txn{Put: []store.Entry{{Key: key, Value: []byte(value)}}}); err != nil {
		t.Fatal(err)
	}
}

func (s stores) putBlob(t testing.TB, name, content string) {
	t.Helper()
	err := s.blobs.Put(t.Context(), name, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// content returns everything in the stores.
func (s stores) content(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	if _, err := s.state.Walk(t.Context(), func(e store.Entry) error {
		all["key "+e.Key] = string(e.Value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	names, err := s.blobs.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		r, err := s.blobs.Open(t.Context(), name, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		all["blob "+name] = string(content)
	}
	return all
}

const (
	finished   = "01a1e7eb-8bfa-701c-9b27-f3f83954e7bd"
	unfinished = "01a1e7ed-0dbc-7be4-a069-b4a531ca7bdc"
)

// filled returns stores with a data set, a job that has ended, and one that has not.
func filled(t testing.TB) stores {
	s := newStores(t)
	s.put(t, records.CreatedKey, records.Layout)
	s.put(t, records.DatasetPrefix+"d1", "a data set")
	s.put(t, records.JobKey(finished), "has ended")
	s.put(t, records.JobKey(unfinished), "has not ended")
	s.put(t, records.UnfinishedKey(unfinished), "")
	s.put(t, records.EventKey(unfinished, 1), strings.Repeat("events ", 1000))
	s.putBlob(t, "datasets/d1/u", strings.Repeat("data ", 5000))
	s.putBlob(t, records.SpecBlob(finished), "spec")
	s.putBlob(t, records.EndBlob(finished, 7, 1, "labels"), "labels")
	s.putBlob(t, records.SpecBlob(unfinished), "spec")
	s.putBlob(t, records.SnapshotBlob(unfinished, 7, 9), "older")
	s.putBlob(t, records.SnapshotBlob(unfinished, 7, 10), "newer")
	return s
}

func take(t testing.TB, s stores) []byte {
	t.Helper()
	b, err := Prepare(t.Context(), Source{State: s.state, Blobs: s.blobs, Version: "1", Now: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var out bytes.Buffer
	if err := b.Write(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if got := int64(out.Len()); got > b.Bytes() {
		t.Errorf("the backup has %d bytes, and announced %d", got, b.Bytes())
	}
	return out.Bytes()
}

func restore(t testing.TB, content []byte, to stores) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.tar")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Restore(t.Context(), path, to.target())
	return err
}

func TestRestoredStoresHaveWhatWasThere(t *testing.T) {
	from := filled(t)
	to := newStores(t)
	// What no record refers to is left out: an upload that has not ended, and what an attempt to end a job left
	// behind.
	want := from.content(t)
	from.putBlob(t, "datasets/d2/u", "no record")
	from.putBlob(t, records.EndBlob(unfinished, 7, 1, "labels"), "not the end")
	from.putBlob(t, records.SnapshotBlob(finished, 7, 1), "is no longer needed")
	if err := restore(t, take(t, from), to); err != nil {
		t.Fatal(err)
	}
	// Snapshots are older than all that the next coordinator stores.
	for number, old := range []string{records.SnapshotBlob(unfinished, 7, 9), records.SnapshotBlob(unfinished, 7, 10)} {
		want["blob "+records.SnapshotBlob(unfinished, 0, number)] = want["blob "+old]
		delete(want, "blob "+old)
	}
	got := to.content(t)
	for what, value := range want {
		if got[what] != value {
			t.Errorf("%s is %.40q, not %.40q", what, got[what], value)
		}
		delete(got, what)
	}
	if len(got) > 0 {
		t.Errorf("there is also %v", got)
	}
	if err := restore(t, take(t, from), to); !fault.Is(err, "STATE_NOT_EMPTY") {
		t.Errorf("a second restore: %v", err)
	}
}

// What is written while a backup is taken is not in it.
func TestBackupIsOfOneMoment(t *testing.T) {
	from := filled(t)
	to := newStores(t)
	want := len(from.content(t))
	b, err := Prepare(t.Context(), Source{State: from.state, Blobs: from.blobs, Version: "1", Now: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	from.put(t, records.DatasetPrefix+"d3", "later")
	from.putBlob(t, "datasets/d3/u", "later")
	var out bytes.Buffer
	if err := b.Write(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if err := restore(t, out.Bytes(), to); err != nil {
		t.Fatal(err)
	}
	if got := len(to.content(t)); got != want {
		t.Errorf("%d entries and blobs were restored, not %d", got, want)
	}
}

// A backup that is cut or changed anywhere is refused, and nothing is written.
func TestDamagedBackupsAreRefused(t *testing.T) {
	whole := take(t, filled(t))
	if _, err := Check(bytes.NewReader(whole)); err != nil {
		t.Fatal(err)
	}
	refuse := func(what string, content []byte) {
		t.Helper()
		to := newStores(t)
		err := restore(t, content, to)
		if !fault.Is(err, Damaged) || !strings.HasPrefix(err.Error(), "this is not an intact backup: ") {
			t.Errorf("%s: %v", what, err)
		}
		if left := to.content(t); len(left) > 0 {
			t.Errorf("%s left %d entries and blobs", what, len(left))
		}
	}
	end := bytes.LastIndexByte(whole, '\n') + 1 // what follows only fills up the file
	for at := 0; at < end; at += 200 {
		refuse("cut", whole[:at])
	}
	reader := tar.NewReader(bytes.NewReader(whole))
	position := 0
	for {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		position += blockBytes
		for _, at := range []int64{0, header.Size / 2, header.Size - 1} {
			changed := bytes.Clone(whole)
			changed[position+int(at)] ^= 4
			if header.Name == headName { // may be another format, or no JSON
				if _, err := Check(bytes.NewReader(changed)); err == nil {
					t.Errorf("byte %d of the head does not matter", at)
				}
				continue
			}
			refuse(header.Name, changed)
		}
		position += (int(header.Size) + blockBytes - 1) / blockBytes * blockBytes
	}
	refuse("no tar file", []byte(strings.Repeat("1,2,3\n", 1000)))
	refuse("nothing", nil)
}

func TestOtherFormatsAreRefused(t *testing.T) {
	whole := bytes.Replace(take(t, filled(t)), []byte(`"format": 1`), []byte(`"format": 9`), 1)
	if err := restore(t, whole, newStores(t)); !fault.Is(err, "BACKUP_FORMAT") {
		t.Errorf("a backup of another format: %v", err)
	}
}

// A restore that was interrupted is found out, and neither used nor continued.
func TestInterruptedRestores(t *testing.T) {
	whole := take(t, filled(t))
	path := filepath.Join(t.TempDir(), "backup.tar")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the store broke")
	for allowed := range 2 {
		to := newStores(t)
		target := to.target()
		left := allowed + 1
		target.Commit = func(txn store.Txn) error {
			if left--; left < 0 {
				return broken
			}
			return to.commit(txn)
		}
		if _, err := Restore(t.Context(), path, target); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if err := Unfinished(t.Context(), to.state); !fault.Is(err, "RESTORE_INTERRUPTED") {
			t.Errorf("after %d transactions: %v", allowed+1, err)
		}
		if err := restore(t, whole, to); !fault.Is(err, "RESTORE_INTERRUPTED") {
			t.Errorf("a restore after an interrupted one: %v", err)
		}
	}
}

// A backup whose state this version cannot read is refused before anything is written.
func TestBackupsOfAnotherLayout(t *testing.T) {
	from := newStores(t)
	to := newStores(t)
	from.put(t, records.DatasetPrefix+"d1", "a data set")
	if err := restore(t, take(t, from), to); !fault.Is(err, Damaged) {
		t.Errorf("without a layout: %v", err)
	}
	from.put(t, records.CreatedKey, records.Layout+"0")
	if err := restore(t, take(t, from), to); !fault.Is(err, "OTHER_LAYOUT") {
		t.Errorf("of another layout: %v", err)
	}
	if got := to.content(t); len(got) > 0 {
		t.Errorf("restored: %v", got)
	}
}

func TestLargeStatesAreRestoredInParts(t *testing.T) {
	from := newStores(t)
	to := newStores(t)
	from.put(t, records.CreatedKey, records.Layout)
	for i := range 350 {
		from.put(t, records.EventKey(finished, uint32(i)), strings.Repeat("e", 4000*(i%7)))
	}
	from.put(t, records.EventKey(unfinished, 1), strings.Repeat("e", 1<<20))
	if err := restore(t, take(t, from), to); err != nil {
		t.Fatal(err)
	}
	if got, want := to.content(t), from.content(t); len(got) != len(want) ||
		got["key "+records.EventKey(finished, 349)] != want["key "+records.EventKey(finished, 349)] {
		t.Errorf("%d of %d entries were restored", len(got), len(want))
	}
}

func FuzzRead(f *testing.F) {
	whole := take(f, filled(f))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("no tar file"))
	f.Fuzz(func(t *testing.T, content []byte) {
		head, err := read(bytes.NewReader(content), visitor{})
		if err == nil && (head.Format != format || !bytes.HasPrefix(content, []byte(headName))) {
			t.Errorf("accepted %+v", head)
		}
	})
}

// The copy of the state leaves the room that others need.
func TestBackupsNeedRoom(t *testing.T) {
	s := filled(t)
	_, err := Prepare(t.Context(), Source{State: s.state, Blobs: s.blobs, HasRoom: func() bool { return false }})
	if !fault.Is(err, "NO_TEMPORARY_FILE") {
		t.Errorf("without room: %v", err)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if _, err := Prepare(t.Context(), Source{State: s.state, Blobs: s.blobs}); !fault.Is(err, "NO_TEMPORARY_FILE") {
		t.Errorf("without a folder: %v", err)
	}
}

// damagedState is a State with damaged values.
type damagedState struct {
	store.State
	keys map[string]bool
}

func (s damagedState) Walk(ctx context.Context, visit func(store.Entry) error) (int64, error) {
	return s.State.Walk(ctx, func(e store.Entry) error {
		if s.keys[e.Key] {
			e.Value, e.Damage = nil, errors.New("the checksum does not match")
		}
		return visit(e)
	})
}

// The head of a backup names values that were damaged before, and stays short however many there are. They are damaged
// in what is restored, too.
func TestBackupsNameDamagedValues(t *testing.T) {
	s := filled(t)
	damaged := map[string]bool{records.DatasetPrefix + "d1": true}
	s.put(t, records.DatasetPrefix+"d1", "the data set")
	s.state = damagedState{s.state, damaged}
	head, err := Check(bytes.NewReader(take(t, s)))
	if err != nil || head.Damaged != 1 || !slices.Equal(head.DamagedKeys, []string{records.DatasetPrefix + "d1"}) {
		t.Errorf("got %+v, %v", head, err)
	}
	for i := range 2 * maxDamagedKeys {
		key := records.EventKey(finished, uint32(i))
		s.put(t, key, "an event")
		damaged[key] = true
	}
	to := newStores(t)
	content := take(t, s)
	if err := restore(t, content, to); err != nil {
		t.Fatal(err)
	}
	if head, err := Check(bytes.NewReader(content)); err != nil || head.Damaged != 1+2*maxDamagedKeys ||
		len(head.DamagedKeys) != maxDamagedKeys {
		t.Errorf("got %+v, %v", head, err)
	}
	restored, err := to.state.Get(t.Context(), records.DatasetPrefix+"d1")
	if err != nil {
		t.Fatal(err)
	}
	if record, err := records.Decode[statev1.ContentRecord](restored); !records.IsDamaged(err) {
		t.Errorf("restored as %v, %v", record, err)
	}
	if head, err := Check(bytes.NewReader(take(t, to))); err != nil || head.Damaged != 1+2*maxDamagedKeys {
		t.Errorf("a backup of what was restored: %+v, %v", head, err)
	}
}
