package format

import (
	"io"
	"strconv"
)

// Seed is a point with a given label, or with one of several labels and its probability.
type Seed struct {
	Index       int32
	Label       int64
	Probability float64 // 0: certain
}

// ReadSeeds reads the columns index, label and optionally probability, in the order of the file. Indices
// must be below points, unless that is 0, for not known. A point occurs once, or with several labels
// that all have a probability. A label without a probability is certain.
func ReadSeeds(r io.Reader, name string, points int) ([]Seed, error) {
	const index, label, probability = 0, 1, 2
	t, err := openTable(r, name, column{name: "index"}, column{name: "label"}, column{name: "probability", optional: true})
	if err != nil {
		return nil, err
	}
	var seeds []Seed
	seen := seedLines{first: map[int32]seedLine{}, label: map[pointLabel]int{}}
	err = t.each(func() (err error) {
		var seed Seed
		if seed.Index, err = t.index(index, points); err != nil {
			return err
		}
		if seed.Label, err = t.integer(label); err != nil {
			return err
		}
		if len(t.cell(probability)) > 0 {
			if seed.Probability, err = t.probability(probability); err != nil {
				return err
			}
		}
		seeds = append(seeds, seed)
		return seen.add(t, seed)
	})
	return emptyNotNil(seeds, err)
}

// LoadSeeds is ReadSeeds of a path.
func LoadSeeds(path string, points int) ([]Seed, error) { return loadSized(path, points, ReadSeeds) }

// probability reads a number above 0 and up to 1.
func (t *table) probability(column int) (float64, error) {
	value, err := t.number("probability", column)
	if err == nil && !(value > 0 && value <= 1) {
		return 0, t.invalid("BAD_PROBABILITY", "the probability is %s; it must be above 0 and at most 1 (leave out labels that the point cannot have)", quoted(t.cell(column)))
	}
	return value, err
}

// seedLine is a seed and its line.
type seedLine struct {
	Seed
	line int
}

// seedLines are the seeds so far, to refuse those that contradict each other.
type seedLines struct {
	first map[int32]seedLine // of each point
	label map[pointLabel]int // the line that gave a point a label
}

func (seen seedLines) add(t *table, seed Seed) error {
	refuse := func(reason, format string, args ...any) error {
		return t.invalid(reason, format, args...).With("index", strconv.Itoa(int(seed.Index)))
	}
	key := pointLabel{seed.Index, seed.Label}
	if line, again := seen.label[key]; again {
		return refuse("DUPLICATE_INDEX", "point %d has the label %d here again; it was on line %d", seed.Index, seed.Label, line)
	}
	before, again := seen.first[seed.Index]
	if again && (before.Probability == 0 || seed.Probability == 0) {
		return refuse("CONTRADICTORY_SEEDS", "point %d has the label %d here and the label %d on line %d; if it may be either, give both a probability",
			seed.Index, seed.Label, before.Label, before.line)
	}
	if !again {
		seen.first[seed.Index] = seedLine{seed, t.lineNumber}
	}
	seen.label[key] = t.lineNumber
	return nil
}
