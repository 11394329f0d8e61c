package jobflags

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// SeedClasses name clusters after the classes of the seeds in them. Nil if the seeds have no classes.
type SeedClasses struct {
	k      int               // the number of clusters; 0 for a range, of which only the labels tell
	names  []string          // of the classes
	seeds  []constraint.Seed // of rows of the data file; labels are indexes of names
	filter *RowFilter        // which rows were clustered
}

// SeedClasses returns the classes of the seeds of the job.
func (j *Job) SeedClasses() *SeedClasses {
	if len(j.classes.Names) == 0 || len(j.seeds) == 0 {
		return nil
	}
	return &SeedClasses{int(j.Spec.GetK()), j.classes.Names, j.seeds, j.Filter}
}

// NameSeeds returns the classes of the seeds of a job with k clusters: a coordinator has only the numbers of the
// classes. The seeds are about rows of the table. The filter tells which rows were clustered, and class returns the
// class in a row. If a class has two names or none, the seeds come from elsewhere, and it returns nil.
func NameSeeds(k uint32, seeds []constraint.Seed, filter *RowFilter, class func(row int) string) *SeedClasses {
	seeds = slices.SortedStableFunc(slices.Values(seeds), func(a, b constraint.Seed) int {
		return cmp.Compare(a.Label, b.Label)
	})
	var names []string // of the classes that have seeds, in the order of their numbers
	last := int32(-1)
	for at, seed := range seeds {
		name := class(int(seed.Index))
		if seed.Label != last {
			last = seed.Label
			names = append(names, name)
		}
		if name == "" || !strings.EqualFold(names[len(names)-1], name) {
			return nil
		}
		seeds[at].Label = int32(len(names) - 1)
	}
	return &SeedClasses{int(k), names, seeds, filter}
}

// Of returns the class of each cluster, or "" for a cluster without one. It returns nil if no cluster has a class.
func (c *SeedClasses) Of(labels []int32) []string {
	if c == nil || len(c.seeds) == 0 || len(labels) == 0 {
		return nil
	}
	k := max(c.k, int(slices.Max(labels))+1)
	counts := make([][]int64, len(c.names)) // of seeds, by class and cluster
	for class := range counts {
		counts[class] = make([]int64, k)
	}
	for _, seed := range c.seeds {
		point := seed.Index
		if c.filter != nil {
			point = c.filter.position[seed.Index]
		}
		if point >= 0 && int(point) < len(labels) && int(labels[point]) < k && labels[point] >= 0 &&
			int(seed.Label) < len(counts) {
			counts[seed.Label][labels[point]]++
		}
	}
	if len(counts) > k {
		return nil
	}
	classes := make([]string, k)
	for class, cluster := range evaluate.Match(counts) {
		classes[cluster] = c.names[class]
	}
	return classes
}

// classColumn is a label column with 4 bytes per row.
type classColumn struct {
	column  string
	names   []string // the classes, in order of appearance
	byRow   []int32  // the index of the class of each row, or unknownClass
	labeled int      // the number of rows with a class

	number map[string]int32
}

const unknownClass = -1

// maxClasses limits the memory for a column that has a different value in each row.
const maxClasses = 1 << 20

func newClassColumn(column string) *classColumn {
	return &classColumn{column: column, number: map[string]int32{}}
}

// classesOf returns the label column with the given cells, or nil if cells is nil.
func classesOf(column string, cells []string) (*classColumn, error) {
	if cells == nil {
		return nil, nil
	}
	c := newClassColumn(column)
	return c, c.add(&table.Column{Type: table.Text, Texts: cells})
}

// add appends the cells of the next rows.
func (c *classColumn) add(cells *table.Column) error {
	for row := range cells.Len() {
		name := cells.CellText(row)
		if table.IsUnknownClass(name) {
			c.byRow = append(c.byRow, unknownClass)
			continue
		}
		number, known := c.number[name]
		if !known {
			if len(c.names) == maxClasses {
				return fault.Invalid("TOO_MANY_CLASSES",
					"column %q has more than %d different values; that is too many for classes", c.column, maxClasses).
					With("column", c.column)
			}
			number = int32(len(c.names))
			c.names = append(c.names, name)
			c.number[name] = number
		}
		c.byRow = append(c.byRow, number)
		c.labeled++
	}
	return nil
}

// numbers returns the number of each class, in the order of c.names.
func (c *classColumn) numbers(classes *table.Classes) []int64 {
	numbers := make([]int64, len(c.names))
	for at, name := range c.names {
		numbers[at] = int64(classes.Number(name))
	}
	return numbers
}
