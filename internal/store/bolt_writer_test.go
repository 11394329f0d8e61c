package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
)

// Transactions that wait for the disk are written together, up to a number and a size.
func TestWaitingTransactionsAreWrittenTogether(t *testing.T) {
	for _, c := range []struct{ waiting, bytes, want int }{
		{waiting: 9, want: 10}, {waiting: maxGroup + 9, want: maxGroup},
		{waiting: 9, bytes: maxGroupBytes / 3, want: 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &boltState{requests: make(chan *request), ended: make(chan struct{}), written: make(chan struct{})}
			one := Txn{Put: []Entry{{Key: "x", Value: make([]byte, c.bytes)}}}
			for range c.waiting {
				go func() {
					select {
					case s.requests <- &request{txn: one}:
					case <-s.ended:
					}
				}()
			}
			synctest.Wait()
			if got := len(s.waiting(&request{txn: one})); got != c.want {
				t.Errorf("with %d waiting, %d of %d bytes each are written together, want %d", c.waiting, got,
					c.bytes, c.want)
			}
			close(s.ended)
		})
	}
}

// A transaction is not waited for longer than patience while the disk hangs, and does not happen if the writer has not
// begun with it.
func TestADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &boltState{requests: make(chan *request), ended: make(chan struct{})}
		began := time.Now()
		_, err := s.submit(t.Context(), &request{})
		if took := time.Since(began); AnswerOf(err) != Unanswered || took != patience {
			t.Errorf("after %v: %v", took, err)
		}
		select {
		case <-s.requests:
			t.Error("the writer may still take the transaction")
		default:
		}
		go func() { <-s.requests }() // and never answers
		_, err = s.submit(t.Context(), &request{})
		if took := time.Since(began); AnswerOf(err) != Unanswered || took != 2*patience {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// Many who write at once see each other's changes, and a conflict of one changes nothing for the others.
func TestConcurrentTransactions(t *testing.T) {
	const writers, each = 8, 10
	s := embedded(t, t.TempDir())
	defer s.Close()
	lead(t, s)
	var group sync.WaitGroup
	count := func(own string) error {
		for done := 0; done < each; {
			e, err := s.Get(t.Context(), "counter")
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			_, err = s.Commit(t.Context(), Txn{
				If:  []Condition{{"counter", e.Revision}},
				Put: []Entry{{Key: "counter", Value: append(e.Value, '.')}, {Key: fmt.Sprint(own, done)}},
			})
			if errors.Is(err, ErrConflict) {
				continue
			}
			if err != nil {
				return err
			}
			done++
		}
		return nil
	}
	for i := range writers {
		group.Go(func() {
			if err := count(fmt.Sprint("own/", i, "/")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := len(get(t, s, "counter").Value); got != writers*each {
		t.Errorf("counted %d of %d", got, writers*each)
	}
	if got := len(list(t, s, "own/", "", 0)); got != writers*each {
		t.Errorf("%d of %d entries", got, writers*each)
	}
}

// writerDirectory, set in the environment, makes this test binary a process that commits without end and prints what is
// acknowledged.
const writerDirectory = "STORE_TEST_WRITER_DIRECTORY"

// A process that is killed while it writes loses nothing that was acknowledged, and leaves no half of a transaction.
func TestKilledWhileWriting(t *testing.T) {
	if dir := os.Getenv(writerDirectory); dir != "" {
		writeWithoutEnd(t, dir)
	}
	dir := t.TempDir()
	acknowledged := map[string]bool{}
	for round := range 5 {
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), writerDirectory+"="+dir)
		output, err := child.StdoutPipe()
		check(t, err)
		check(t, child.Start())
		seen := 0
		for lines := bufio.NewScanner(output); lines.Scan(); {
			key, is := strings.CutPrefix(lines.Text(), "committed ")
			if !is {
				continue
			}
			acknowledged[key] = true
			if seen++; seen == 20+7*round {
				check(t, child.Process.Kill()) // in the middle of the next ones; go on with what it has printed
			}
		}
		_ = child.Wait() // it was killed
		s := embedded(t, dir)
		there := map[string]bool{}
		for _, e := range list(t, s, "", "", 0) {
			there[e.Key] = true
		}
		for key := range there {
			if other := strings.NewReplacer("first", "second", "second", "first").Replace(key); !there[other] {
				t.Errorf("%s is there without %s", key, other)
			}
		}
		for key := range acknowledged {
			if !there["first/"+key] {
				t.Errorf("%s was acknowledged and is gone", key)
			}
		}
		check(t, s.Close())
	}
	if len(acknowledged) < 5*20 {
		t.Errorf("only %d transactions were acknowledged", len(acknowledged))
	}
}

func writeWithoutEnd(t *testing.T, dir string) {
	s := embedded(t, dir)
	term := lead(t, s)
	for writer := range 6 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d/%d/%d", term.Revision(), writer, i)
				value := make([]byte, i*997%9000)
				both := []Entry{{Key: "first/" + key, Value: value}, {Key: "second/" + key, Value: value}}
				if _, err := s.Commit(t.Context(), Txn{Put: both}); err != nil {
					panic(err)
				}
				fmt.Println("committed", key)
			}
		}()
	}
	select {}
}

// The pages of what was deleted or overwritten are used again.
func TestFreePagesAreUsedAgain(t *testing.T) {
	dir := t.TempDir()
	s := embedded(t, dir)
	defer s.Close()
	lead(t, s)
	for i := range 100 {
		commit(t, s, Txn{
			Put:    []Entry{{Key: fmt.Sprint(i % 3), Value: make([]byte, 200<<10)}},
			Delete: []string{fmt.Sprint((i + 1) % 3)},
		})
	}
	if used := s.(*boltState).needed.Load(); used > 4<<20 {
		t.Errorf("two values of 200 KiB need %d bytes", used)
	}
}

// A file that is mostly free pages gets smaller at the next start, and keeps its entries and its revision.
func TestFreePagesAreGivenBack(t *testing.T) {
	dir := t.TempDir()
	s, err := openBolt(t.Context(), dir, nil)
	check(t, err)
	lead(t, s)
	big := func(change func(entries *bbolt.Bucket, key []byte) error) {
		check(t, s.db.Update(func(tx *bbolt.Tx) error {
			for i := range 2 * compactBytes >> 20 {
				if err := change(tx.Bucket(entriesBucket), fmt.Append(nil, "big/", i)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	big(func(entries *bbolt.Bucket, key []byte) error { return entries.Put(key, make([]byte, 1<<20)) })
	revision := commit(t, s, Txn{Put: []Entry{{Key: "kept", Value: []byte("yes")}}})
	big(func(entries *bbolt.Bucket, key []byte) error { return entries.Delete(key) })
	check(t, s.Close())
	before, err := os.Stat(filepath.Join(dir, boltFile))
	check(t, err)

	opened := embedded(t, dir)
	defer opened.Close()
	after, err := os.Stat(filepath.Join(dir, boltFile))
	check(t, err)
	if before.Size() < 2*compactBytes || after.Size() > 1<<20 {
		t.Errorf("the file had %d bytes and has %d", before.Size(), after.Size())
	}
	if e := get(t, opened, "kept"); string(e.Value) != "yes" || e.Revision != revision {
		t.Errorf("got %+v, want revision %d", e, revision)
	}
	if term := lead(t, opened); term.Revision() != revision+1 {
		t.Errorf("after revision %d comes %d", revision, term.Revision())
	}
}
