package catalog

// Type is the type of an option's values.
type Type uint8

// The types of options.
const (
	Choice Type = iota // one of Values
	Number             // a finite number, or one of Values
	Whole              // a whole number
	Switch             // on or off
	File               // a table in a file; in the API a table or a data set
	Start              // one of the starts, some of which name a file: labels:FILE
)

// Group is the heading under which help lists an option.
type Group string

// The groups, in the order of help.
const (
	SupervisionGroup Group = "What you know about the answer"
	AutoGroup        Group = "The choice of a way (auto)"
	NeighborGroup    Group = "Points as a graph of neighbors (auto, kernel-kmeans and the spectral family)"
	KernelGroup      Group = "Kernel and affinity (kernel-kmeans and the spectral family)"
	CentroidGroup    Group = "Centroids (k-means and its relatives)"
	CutGroup         Group = "Constrained cuts (constrained-spectral)"
	RunGroup         Group = "How it runs"
)

// Groups are all groups, in order.
var Groups = []Group{SupervisionGroup, AutoGroup, NeighborGroup, KernelGroup, CentroidGroup, CutGroup, RunGroup}

// Option is something that a job can ask for.
type Option struct {
	Name string // without the two dashes of the command line
	// Field is the option's path in the API: within the algorithm's message, or from "spec." on; "": only the
	// command line has this option.
	Field   string
	NoFlag  bool // only the API has this option
	Common  bool // all algorithms have this option
	Type    Type
	Values  []string
	Aliases map[string]string // old names of values
	Default string            // for help
	// The range of a number; Max 0: there is no range.
	Min, Max    float64
	MaxExcluded bool // Max itself is too large
	Group       Group
	Help        string // a word in backquotes names the value
	// Spectral is the option as the spectral family has it, where it differs.
	Spectral *Option
}
