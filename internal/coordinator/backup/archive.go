// Package backup copies all state and data of a coordinator into one file while the coordinator serves, and restores
// it into empty stores.
//
// A backup is a tar file of regular files, in this order:
//
//	backup.json   Head
//	state         all keys and values of the state at one revision: for each, the lengths as varints, and the bytes
//	blobs/NAME    the blobs that this state refers to
//	SHA256SUMS    the checksums of all other files, as sha256sum -c reads them
//
// The last file shows that nothing is missing.
package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

const (
	headName  = "backup.json"
	stateName = "state"
	blobRoot  = "blobs/"
	sumsName  = "SHA256SUMS"

	// format is the version of the layout above.
	format = 1

	maxHeadBytes = 64 << 10

	// maxDamagedKeys keeps the head below maxHeadBytes: our keys have a few hundred bytes at most.
	maxDamagedKeys = 50

	// blockBytes is the unit of a tar file: a header takes one, and files are filled up to a multiple of it.
	blockBytes = 512
)

// Damaged is the reason of errors about a file that is not an intact backup.
const Damaged = "BACKUP_DAMAGED"

// Head describes a backup.
type Head struct {
	Format   int       `json:"format"`
	Version  string    `json:"version"` // of Cleave
	Created  time.Time `json:"created"`
	Revision int64     `json:"revision"` // of the state
	Blobs    int       `json:"blobs"`
	Bytes    int64     `json:"bytes"` // of the state and the blobs

	// Damaged is how many values of the state were damaged already when they were copied, and DamagedKeys has the keys
	// of the first of them.
	Damaged     int      `json:"damaged,omitempty"`
	DamagedKeys []string `json:"damaged_keys,omitempty"`
}

// writer writes the files of a backup and remembers their checksums.
type writer struct {
	tar  *tar.Writer
	sums bytes.Buffer
	when time.Time
}

// add writes one file. The content must have the given size.
func (w *writer) add(name string, size int64, content io.Reader) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: w.when}); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w.tar, sum), content)
	if err == nil && n != size {
		err = fmt.Errorf("%s has %d bytes, not %d", name, n, size)
	}
	fmt.Fprintf(&w.sums, "%x  %s\n", sum.Sum(nil), name)
	return err
}

// finish writes the checksums, and with them the end.
func (w *writer) finish() error {
	sums := bytes.Clone(w.sums.Bytes())
	return errors.Join(w.add(sumsName, int64(len(sums)), bytes.NewReader(sums)), w.tar.Close())
}

// writeEntry writes a key and its value in the form of the file "state".
func writeEntry(w io.Writer, e store.Entry) error {
	lengths := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(e.Key))), uint64(len(e.Value)))
	for _, part := range [][]byte{lengths, []byte(e.Key), e.Value} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// readEntries calls visit with each entry of a file "state".
func readEntries(r io.Reader, visit func(store.Entry) error) error {
	in := bufio.NewReader(r)
	for {
		keyBytes, err := binary.ReadUvarint(in)
		if err == io.EOF {
			return nil
		}
		valueBytes, valueErr := binary.ReadUvarint(in)
		if err != nil || valueErr != nil {
			return damaged("its state ends in the middle of a key")
		}
		if keyBytes == 0 || keyBytes > store.MaxKeyBytes || valueBytes > store.MaxCommitBytes {
			return damaged("its state has a key of %d bytes with a value of %d", keyBytes, valueBytes)
		}
		both := make([]byte, keyBytes+valueBytes)
		if _, err := io.ReadFull(in, both); err != nil {
			return damaged("its state ends in the middle of a value")
		}
		if err := visit(store.Entry{Key: string(both[:keyBytes]), Value: both[keyBytes:]}); err != nil {
			return err
		}
	}
}

// visitor receives the parts of a backup while it is read. Nothing is known to be intact before read returns. A nil
// function skips its part.
type visitor struct {
	entry func(store.Entry) error
	blob  func(name string, content io.Reader) error
}

// Check reads a backup and returns an error, Damaged, unless it is complete and intact.
func Check(r io.Reader) (Head, error) {
	return read(r, visitor{})
}

// read reads a backup and checks that it is complete and intact.
func read(r io.Reader, visit visitor) (head Head, err error) {
	in := tar.NewReader(r)
	sums := sha256.New() // of what SHA256SUMS must contain
	var bytesRead int64
	blobs := 0
	for number := 0; ; number++ {
		header, err := in.Next()
		if err == io.EOF {
			return head, damaged("its end is missing")
		}
		if err != nil {
			return head, unreadable(err)
		}
		if header.Typeflag != tar.TypeReg || isSparse(header) {
			return head, damaged("%.100q is not a regular file", header.Name)
		}
		if header.Name == sumsName {
			err = checkSums(in, sums, number)
			switch {
			case err != nil:
				return head, err
			case blobs != head.Blobs || bytesRead != head.Bytes:
				return head, damaged("it has %d blobs and %d bytes, and its head says %d and %d", blobs, bytesRead,
					head.Blobs, head.Bytes)
			}
			return head, nil
		}
		name, isBlob := strings.CutPrefix(header.Name, blobRoot)
		sum := sha256.New()
		content := &reader{from: io.TeeReader(in, sum)}
		switch {
		case number == 0 && header.Name == headName:
			head, err = readHead(content)
		case number == 1 && header.Name == stateName:
			err = readEntries(content, visit.each)
		case number > 1 && isBlob:
			blobs++
			if visit.blob != nil {
				err = visit.blob(name, content)
			}
		default:
			err = damaged("%.100q is not a part of a backup, or not in its place", header.Name)
		}
		if err == nil {
			_, err = io.Copy(io.Discard, content) // what the visitor left
		}
		if content.err != nil {
			err = unreadable(content.err)
		}
		if err != nil {
			return head, err
		}
		if number > 0 {
			bytesRead += header.Size
		}
		fmt.Fprintf(sums, "%x  %s\n", sum.Sum(nil), header.Name)
	}
}

func (v visitor) each(e store.Entry) error {
	if v.entry == nil {
		return nil
	}
	return v.entry(e)
}

// reader records the error of the file that it reads, to distinguish it from errors of the visitor.
type reader struct {
	from io.Reader
	err  error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

func readHead(r io.Reader) (head Head, err error) {
	content, err := io.ReadAll(io.LimitReader(r, maxHeadBytes))
	if err != nil {
		return head, err
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return head, damaged("its head cannot be read: %v", err)
	}
	if head.Format != format {
		return head, fault.New(fault.FailedPrecondition, "BACKUP_FORMAT",
			"the backup is of format %d, which Cleave %s wrote, and this program reads format %d: "+
				"restore it with the version that wrote it", head.Format, head.Version, format)
	}
	return head, nil
}

// checkSums compares the last file of a backup with what was read. Only its hash is kept, since there may be many
// blobs.
func checkSums(r io.Reader, want hash.Hash, files int) error {
	got := sha256.New()
	if _, err := io.Copy(got, r); err != nil {
		return unreadable(err)
	}
	if files < 2 || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		return damaged("its content does not match its checksums; tar xf FILE && sha256sum -c %s shows which "+
			"files changed", sumsName)
	}
	return nil
}

// isSparse reports whether a file has holes, so that its size exceeds the bytes that are there.
func isSparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse") {
			return true
		}
	}
	return false
}

func damaged(format string, args ...any) error {
	return fault.New(fault.DataLoss, Damaged, "this is not an intact backup: "+format, args...)
}

func unreadable(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrFieldTooLong) {
		return damaged("%v", err)
	}
	return fmt.Errorf("the backup cannot be read: %w", err)
}
