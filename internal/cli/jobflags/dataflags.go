package jobflags

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/format"
)

// DataFlags are the flags that name a file of data.
type DataFlags struct {
	set *pflag.FlagSet

	data, graph, kernelMatrix string
	vertices                  *OptionFlag
	inputFlags
	vertexList    string
	namedVertices bool
	tableFlags

	// Stream says that a large table may be sent as it is read.
	Stream bool
	// Rows are what the table says besides points, once it is loaded; nil: the data are no table.
	Rows *Rows
}

// newDataFlags has no flags declared yet.
func newDataFlags(set *pflag.FlagSet) DataFlags {
	return DataFlags{set: set, vertices: NewWhole(0, 0, dataset.MaxRows)}
}

// AddDataFlags declares the flags that name the data of a job that has ended, to be drawn.
func AddDataFlags(set *pflag.FlagSet) *DataFlags {
	f := newDataFlags(set)
	f.inputFlags.add(set, &f.data, "the job's points in this `FILE`, to draw clusters.svg")
	set.StringVar(&f.graph, "graph", "", "the job's graph in this `FILE`, to draw clusters.svg")
	f.addGraphFlags(set)
	set.StringVar(&f.kernelMatrix, "kernel-matrix", "", "the job's kernel matrix in this `FILE`, to draw clusters.svg")
	f.tableFlags.add(set)
	return &f
}

// Given tells whether a flag is on the command line.
func (f *DataFlags) Given(flag string) bool { return f.set.Changed(flag) }

// source is the flag that names the data, empty when none does.
func (f *DataFlags) source() (flag string, err error) {
	var given []string
	for _, name := range []string{"data", "graph", "kernel-matrix"} {
		if f.Given(name) {
			given = append(given, name)
		}
	}
	switch len(given) {
	case 0:
		return "", nil
	case 1:
		return given[0], nil
	}
	return "", shell.Usage("--%s and --%s were both given; a job clusters one data set", given[0], given[1])
}

// kindOf is the kind of data that a source flag names.
func (f *DataFlags) kindOf(flag string) dataset.Kind {
	switch {
	case flag == "graph":
		return dataset.KindGraph
	case flag == "kernel-matrix":
		return dataset.KindKernel
	case f.holds(format.InputSparse):
		return dataset.KindSparsePoints
	}
	return dataset.KindPoints
}

// Load reads the data that the flags name, nil when they name none, and the names of its columns
// where it has any.
func (f *DataFlags) Load() (dataset.Dataset, []string, error) {
	flag, err := f.source()
	if err == nil {
		err = f.checkTable(flag)
	}
	if err != nil {
		return nil, nil, err
	}
	if f.IsTable() {
		var data dataset.Dataset
		var header []string
		data, header, _, f.Rows, err = f.loadTable(false)
		return data, header, err
	}
	if err := f.checkGraph(flag); err != nil {
		return nil, nil, err
	}
	var data dataset.Dataset
	var header []string
	switch flag {
	case "data":
		data, header, err = f.loadPoints(0)
	case "graph":
		data, f.Rows, err = f.loadGraph()
	case "kernel-matrix":
		data, err = asDataset(f.inputOf(f.kernelMatrix).LoadKernel())
	}
	return data, header, err
}

// LoadKept is Load that leaves out rows which cannot be clustered, if some were left out; where directions were compared,
// these are also rows of zeros.
func (f *DataFlags) LoadKept(dropped, directions bool) (dataset.Dataset, []string, *RowFilter, error) {
	if f.IsTable() && dropped {
		f.missing.text = string(recipe.Drop)
		data, header, filter, rows, err := f.loadTable(directions)
		f.Rows = rows
		return data, header, filter, err
	}
	if flag, err := f.source(); err == nil && flag == "data" && dropped {
		return f.loadUsable(f.data, directions)
	}
	data, header, err := f.Load()
	return data, header, nil, err
}

// Name is the name of the file of data, without its folder.
func (f *DataFlags) Name() string {
	return baseName(cmp.Or(f.data, f.graph, f.kernelMatrix))
}
