package bench

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
