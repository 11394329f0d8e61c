package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// Source is what is backed up. While a backup is prepared and written, no blob that the state refers to may be
// deleted, see Hold.
type Source struct {
	State   store.State
	Blobs   store.Blobs
	Version string
	Now     time.Time

	// HasRoom reports whether the copy of the state in TMPDIR may grow; nil means that it always may. It is asked
	// before each MiB.
	HasRoom func() bool
}

// Backup is the state of one moment, and the blobs that belong to it. The caller closes it.
type Backup struct {
	source Source
	head   Head
	state  *os.File // entries, in an unlinked file: all must be of one revision, and they may not fit into memory
	size   int64    // of the state
	blobs  []member
}

// member is a blob of a backup.
type member struct {
	blob, name string // in the store, and in the backup
	bytes      int64
}

// attempts is how often the state is read, if it changes so fast that the store forgets the revision that is read.
const attempts = 5

// Prepare reads the state, and finds out which blobs belong to it.
func Prepare(ctx context.Context, s Source) (_ *Backup, err error) {
	b := &Backup{source: s, head: Head{Format: format, Version: s.Version, Created: s.Now.UTC().Truncate(time.Second)}}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if b.state, err = os.CreateTemp("", "cleave-backup-*"); err != nil {
		return nil, noTemporaryFile(err)
	}
	_ = os.Remove(b.state.Name())
	var keys keySet
	for attempt := 1; ; attempt++ {
		keys, err = b.spool(ctx)
		if !errors.Is(err, store.ErrCompacted) {
			break
		}
		if attempt == attempts {
			return nil, fault.New(fault.Unavailable, "STATE_BUSY",
				"the state changes faster than it can be read; try again when fewer jobs run")
		}
	}
	if err != nil {
		return nil, err
	}
	if err := b.choose(ctx, keys); err != nil {
		return nil, err
	}
	b.head.Blobs, b.head.Bytes = len(b.blobs), b.size
	for _, m := range b.blobs {
		b.head.Bytes += m.bytes
	}
	return b, nil
}

// noTemporaryFile returns the error for a copy of the state that cannot be written.
func noTemporaryFile(err error) error {
	return fault.New(fault.Unavailable, "NO_TEMPORARY_FILE",
		"the coordinator cannot write a copy of its state to %s; free space there, or restart it with another "+
			"TMPDIR, and back up again", os.TempDir()).Because(err)
}

var errNoRoom = errors.New("the rest of the disk is reserved for the stores")

// stateCopy writes the copy of the state. It leaves the room that the stores need, which may be on the same disk.
type stateCopy struct{ *Backup }

func (c stateCopy) Write(p []byte) (int, error) {
	if c.source.HasRoom != nil && !c.source.HasRoom() {
		return 0, noTemporaryFile(errNoRoom)
	}
	n, err := c.state.Write(p)
	if err != nil {
		err = noTemporaryFile(err)
	}
	return n, err
}

// lostValue stands for a damaged value in a backup. It does not decode as a message, so the restored record is damaged
// too.
var lostValue = []byte{0}

// spool copies the state of one revision to the file, and returns its keys that blobs belong to. It names in the head
// which values are damaged.
func (b *Backup) spool(ctx context.Context) (keySet, error) {
	keys := keySet{}
	if _, err := b.state.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if err := b.state.Truncate(0); err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(stateCopy{b}, 1<<20) // HasRoom is a system call
	b.head.Damaged, b.head.DamagedKeys = 0, nil
	var err error
	b.head.Revision, err = b.source.State.Walk(ctx, func(e store.Entry) error {
		if e.Key == records.IdentityKey { // what is restored is another cluster
			return nil
		}
		keys.add(e.Key)
		if e.Damage != nil {
			e.Value = lostValue
		}
		if bytes.Equal(e.Value, lostValue) {
			if b.head.Damaged++; b.head.Damaged <= maxDamagedKeys {
				b.head.DamagedKeys = append(b.head.DamagedKeys, e.Key)
			}
		}
		return writeEntry(out, e)
	})
	if err := errors.Join(err, out.Flush()); err != nil {
		return nil, err
	}
	b.size, err = b.state.Seek(0, io.SeekCurrent)
	return keys, err
}

// keySet has the keys of data sets, tables and jobs, by the prefix of their blobs. The value tells whether a job is
// unfinished.
type keySet map[string]bool

func (k keySet) add(key string) {
	switch kind, rest, _ := strings.Cut(key, "/"); kind + "/" {
	case records.JobPrefix:
		if prefix := records.JobBlobPrefix(records.JobOfKey(key)); !k[prefix] {
			k[prefix] = false
		}
	case records.UnfinishedPrefix:
		k[records.JobBlobPrefix(rest)] = true
	case records.DatasetPrefix, records.TablePrefix:
		k[key+"/"] = false
	}
}

// choose finds the blobs that belong to the state: of an unfinished job its spec and its snapshots, of a finished one
// everything except snapshots. The others were written after the state was read, or are about to be deleted.
func (b *Backup) choose(ctx context.Context, keys keySet) error {
	names, err := b.source.Blobs.List(ctx, "")
	if err != nil {
		return err
	}
	snapshots := map[string][]string{} // by job
	for _, blob := range names {
		id, prefix := records.OwnerOfBlob(blob)
		unfinished, exists := keys[prefix]
		switch {
		case !exists:
		case strings.HasPrefix(blob, records.SnapshotPrefix(id)):
			if unfinished {
				snapshots[id] = append(snapshots[id], blob)
			}
		case !unfinished || blob == records.SpecBlob(id):
			if err := b.include(ctx, blob, blob); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(snapshots)) {
		slices.SortFunc(snapshots[id], records.CompareSnapshots)
		for number, blob := range snapshots[id] {
			// The store that the backup is restored to may count terms from the start, so use term 0, which precedes
			// all of them.
			if err := b.include(ctx, blob, records.SnapshotBlob(id, 0, number)); err != nil {
				return err
			}
		}
	}
	return nil
}

// include adds a blob to the backup under a name.
func (b *Backup) include(ctx context.Context, blob, name string) error {
	size, err := b.source.Blobs.Size(ctx, blob)
	b.blobs = append(b.blobs, member{blob, name, size})
	return err
}

// Bytes returns an upper bound of the size of the backup.
func (b *Backup) Bytes() int64 {
	padded := func(bytes int64) int64 { return (bytes + blockBytes - 1) / blockBytes * blockBytes }
	const nameBytes = 200 // more than a name and its checksum take
	total := blockBytes*8 + padded(b.size)
	for _, m := range b.blobs {
		total += 3*blockBytes + padded(m.bytes) + nameBytes
	}
	return total
}

// Head describes the backup.
func (b *Backup) Head() Head { return b.head }

// Write writes the backup.
func (b *Backup) Write(ctx context.Context, to io.Writer) error {
	w := &writer{tar: tar.NewWriter(to), when: b.head.Created}
	head, err := json.MarshalIndent(b.head, "", "  ")
	if err != nil {
		return err
	}
	if err := w.add(headName, int64(len(head)), bytes.NewReader(head)); err != nil {
		return err
	}
	if _, err := b.state.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := w.add(stateName, b.size, b.state); err != nil {
		return err
	}
	for _, m := range b.blobs {
		if err := b.copyBlob(ctx, w, m); err != nil {
			return err
		}
	}
	return w.finish()
}

func (b *Backup) copyBlob(ctx context.Context, w *writer, m member) error {
	content, err := b.source.Blobs.Open(ctx, m.blob, 0, -1)
	if err != nil {
		return err
	}
	defer content.Close()
	return w.add(blobRoot+m.name, m.bytes, content)
}

// Close releases the temporary file.
func (b *Backup) Close() {
	if b.state != nil {
		b.state.Close()
	}
}
