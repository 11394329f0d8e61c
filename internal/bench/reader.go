package bench

// Reading memory as fast as the machine can. A turn reads eight cache lines that lie a stride
// apart, then all eight advance by a step. With a large stride and a step of one line these are
// eight sequential streams; with a stride of one line and a step of eight they are one.

const (
	wordsPerLine = 8 // a cache line in 64-bit words
	linesPerTurn = 8
)

// reader reads count turns from the start of words, with the stride and the step in words, and
// returns the sum of what it read.
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

// turnsPerCall keeps one call of assembly at 128 KiB, some microseconds: it cannot be preempted.
const turnsPerCall = 256

// readStreams reads all of words but for a rest of less than eight lines per stream, in one or
// eight streams, and returns the sum and the number of bytes.
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
