package bench

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cleave-project/cleave/internal/kernel/hugepage"
)

// readLimit measures how fast this machine reads memory. Its buffers are as large as the matrix of the
// sweeps, so that caches hold the same share of both.
type readLimit struct {
	huge, usual []uint64
	release     func()
	threads     int
	reader      reader

	eightHuge, eightUsual, oneHuge times
}

func fill(words []uint64) {
	for i := range words {
		words[i] = uint64(i)
	}
}

func newReadLimit(bytes, threads int) (*readLimit, error) {
	huge, releaseHuge, err := newBuffer(bytes / 8)
	if err != nil {
		return nil, err
	}
	usual, releaseUsual, err := newBuffer(bytes / 8)
	if err != nil {
		releaseHuge()
		return nil, err
	}
	hugepage.Advise(huge)
	fill(huge)
	fill(usual)
	release := func() {
		releaseHuge()
		releaseUsual()
	}
	return &readLimit{huge: huge, usual: usual, release: release, threads: threads, reader: readers()[0]}, nil
}

// newBuffer returns memory from the system, and a function that gives it back. Memory of the Go
// heap may have been used before, and would then keep the pages that it has.
func newBuffer(words int) (buffer []uint64, release func(), err error) {
	memory, err := unix.Mmap(-1, 0, 8*words, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(memory))), words), func() {
		_ = unix.Munmap(memory)
	}, nil
}

// measure reads a buffer once on all threads.
func (l *readLimit) measure(words []uint64, streams int) func() (float64, error) {
	return func() (float64, error) {
		return stopwatch(func() error {
			var group sync.WaitGroup
			for thread := range l.threads {
				group.Go(func() {
					part := words[thread*len(words)/l.threads : (thread+1)*len(words)/l.threads]
					l.reader.readStreams(part, streams)
				})
			}
			group.Wait()
			return nil
		})
	}
}

func (l *readLimit) measurements() []measurement {
	return []measurement{
		{l.measure(l.huge, 8), &l.eightHuge},
		{l.measure(l.usual, 8), &l.eightUsual},
		{l.measure(l.huge, 1), &l.oneHuge},
	}
}

func (l *readLimit) bytes() float64 { return 8 * float64(len(l.huge)) }

// limit returns the largest number of bytes per second over all ways of reading.
func (l *readLimit) limit() float64 {
	return l.bytes() / min(l.eightHuge.best(), l.eightUsual.best(), l.oneHuge.best())
}

// medianLimit returns the same for the median rounds.
func (l *readLimit) medianLimit() float64 {
	return l.bytes() / min(l.eightHuge.median(), l.eightUsual.median(), l.oneHuge.median())
}

func (l *readLimit) rows() []Row {
	gigabytes := l.bytes() / 1e9
	row := func(streams, pages string, t times) Row {
		return Row{
			What:  fmt.Sprintf("memory read limit, %s per core, %s pages", streams, pages),
			Ours:  rate(gigabytes, t, "GB/s"),
			Ratio: percent(l.bytes()/t.best()/l.limit(), l.bytes()/t.median()/l.medianLimit()),
		}
	}
	return []Row{
		row("8 streams", "huge", l.eightHuge),
		row("8 streams", "usual", l.eightUsual),
		row("1 stream", "huge", l.oneHuge),
	}
}

// percent formats a share of the limit, in the best rounds and in the median ones.
func percent(best, median float64) string {
	return fmt.Sprintf("%.0f %% (%.0f %%) of the limit", 100*best, 100*median)
}

// Readers read memory as fast as the machine can. A turn reads eight cache lines at distances of a stride;
// for the next turn all eight advance by a step. With a large stride and a step of one line these are eight
// sequential streams; with a stride of one line and a step of eight lines it is one stream.

const (
	wordsPerLine = 8 // a cache line in 64-bit words
	linesPerTurn = 8
)

// reader has a function that reads count turns from the start of words, with the stride and the step in
// words, and returns the sum of the words that it read.
type reader struct {
	name string
	read func(words []uint64, stride, step, count int) uint64
}

// readLines is the portable reader.
func readLines(words []uint64, stride, step, count int) uint64 {
	var sum uint64
	for turn := range count {
		for line := range linesPerTurn {
			from := turn*step + line*stride
			l := words[from : from+wordsPerLine : from+wordsPerLine]
			sum += l[0] + l[1] + l[2] + l[3] + l[4] + l[5] + l[6] + l[7]
		}
	}
	return sum
}

// turnsPerCall makes one call of assembly read 128 KiB, which takes some microseconds: the Go scheduler
// cannot interrupt it.
const turnsPerCall = 256

// readStreams reads words in one or eight streams, except less than eight lines at the end, and returns
// the sum of the words and the number of bytes.
func (r reader) readStreams(words []uint64, streams int) (sum uint64, bytes int) {
	stride, step := wordsPerLine, linesPerTurn*wordsPerLine
	turns := len(words) / step
	if streams == linesPerTurn {
		stride, step = turns*wordsPerLine, wordsPerLine
	}
	for done := 0; done < turns; done += turnsPerCall {
		count := min(turnsPerCall, turns-done)
		sum += r.read(words[done*step:], stride, step, count)
	}
	return sum, turns * linesPerTurn * wordsPerLine * 8
}
