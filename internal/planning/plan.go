package planning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// Worker is what a plan needs to know about a worker.
type Worker struct {
	Name    string
	Threads int
	Free    int64 // bytes that the job may use
	Whole   bool  // it fetches data sets whole, even where rows suffice
}

// on returns the workload as it is on a worker.
func (w Workload) on(worker Worker) Workload {
	w.Whole = w.Whole || worker.Whole
	return w
}

// Plan describes how a job is distributed and what it takes.
type Plan struct {
	Tiles, TileRows  int
	Stored, Computed int // tiles whose entries are stored, and tiles whose entries are computed when needed
	Storage          string
	EntryBytes       int64   // size of the stored tiles or, for a graph, of the graph itself
	Bytes            int64   // sum of the shares' peaks
	Shares           []Share // one for each worker that gets tiles of the job, or of a part or a search
	Passes           float64 // passes over the whole matrix, or over all vectors
	Seconds          float64 // approximate
	Products         int64   // assumed products of the matrix with a vector, for eigenvectors
	CoordinatorBytes int64   // for eigenvectors, landmarks, and graphs of neighbors or of merged vertices
	Why              string
}

// Share is one worker's part of a plan.
type Share struct {
	Worker
	at               int   // which of the workers it is: their names need not differ
	Stored, Computed int   // number of tiles
	Bytes            int64 // at its peak
}

// Make plans a job on workers. If the job does not fit, the error has the reason DoesNotFit and says what would fit.
func Make(p Workload, workers []Worker) (*Plan, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	hosts := make([]partition.Host, len(workers))
	for h, w := range workers {
		hosts[h] = p.on(w).Host(fmt.Sprint(h), w.Threads, w.Free, false)
	}
	sizes := p.TileSizes()
	layout := partition.NewLayout("plan", sizes, hosts)
	if !layout.Place(p.StorageRule()) {
		return nil, p.refuse(workers)
	}
	plan := &Plan{Tiles: len(sizes), TileRows: partition.TileRows(p.Rows())}
	shares := make([]Share, len(workers))
	for tile, h := range layout.Owner {
		shares[h].Bytes += sizes[tile].Computed
		if !layout.Stored[tile] {
			shares[h].Computed++
			plan.Computed++
			continue
		}
		shares[h].Bytes += sizes[tile].Stored - sizes[tile].Computed
		plan.EntryBytes += sizes[tile].Stored - sizes[tile].Computed
		shares[h].Stored++
		plan.Stored++
	}
	for h, share := range shares {
		if share.Stored+share.Computed == 0 {
			continue
		}
		share.Worker, share.at = workers[h], h
		there := p.on(share.Worker)
		share.Bytes = max(there.MinFreeBytes(share.Threads), there.FixedBytes(share.Threads)+share.Bytes)
		plan.Shares = append(plan.Shares, share)
		plan.Bytes += share.Bytes
	}
	if p.OnGraph() {
		plan.EntryBytes = p.DatasetBytes
	}
	kind := p.kind()
	plan.Storage = kind.storageName(plan.Stored > 0, plan.Computed > 0)
	plan.Passes = kind.passes()
	plan.Seconds = p.seconds(plan)
	if p.Times > 1 {
		plan.Passes, plan.Seconds = float64(p.Times)*plan.Passes, float64(p.Times)*plan.Seconds
	}
	plan.Products = p.AssumedProducts()
	plan.CoordinatorBytes = p.CoordinatorBytes()
	plan.Why = kind.explain(plan, offer(workers)) + p.explainEigen()
	if p.Times > 1 {
		plan.Why += fmt.Sprintf("; repeated for %d values of k, of which the largest, %d, needs the most", p.Times, p.K)
	}
	if hint := p.proposal(plan, workers); hint != "" {
		plan.Why += "; " + hint
	}
	if p.Search != nil {
		return plan.after(*p.Search, workers)
	}
	return plan, nil
}

// after adds a search that runs first: its time, and its memory where that is larger.
func (p *Plan) after(search Workload, workers []Worker) (*Plan, error) {
	first, err := Make(search, workers)
	if err != nil {
		return nil, err
	}
	if p.Tiles == 0 { // only the search uses workers
		p.Tiles, p.TileRows, p.Stored, p.Storage = first.Tiles, first.TileRows, first.Stored, first.Storage
		p.EntryBytes, p.Bytes, p.Shares = first.EntryBytes, first.Bytes, first.Shares
	}
	p.addShares(first.Shares, larger)
	p.Why = fmt.Sprintf("step 1, nearest neighbors (about %.0f s, less if points form groups): %s; step 2, "+
		"clustering a graph of at most %d edges: %s",
		first.Seconds, first.Why, search.Neighbors.Edges(), p.Why)
	p.Seconds += first.Seconds
	return p, nil
}

// offer says how much memory the workers have.
func offer(workers []Worker) string {
	verb, total := "offer", int64(0)
	if len(workers) == 1 {
		verb = "offers"
	}
	for _, w := range workers {
		total = addSaturated(total, max(0, w.Free))
	}
	memory := text.Bytes(total)
	if total >= Unlimited {
		memory = "unlimited memory"
	}
	return fmt.Sprintf("%s %s %s", text.Plural(len(workers), "worker"), verb, memory)
}

// MakeAll plans a job of several parts, which work one after the other. A part keeps what it has on the workers while
// there is room, and otherwise gives it up for the next one, so each must fit on its own. The plan is that of the
// first part, with the memory and time of all.
func MakeAll(parts []Workload, workers []Worker) (*Plan, error) {
	plans := make([]*Plan, len(parts))
	search := -1
	for at, part := range parts {
		plan, err := Make(part, workers)
		if err != nil {
			return nil, err
		}
		plans[at] = plan
		switch {
		case part.Neighbors == nil:
		case search < 0:
			search = at
		default: // searches end before the next begins, so the first stands for all
			plans[search].addShares(plan.Shares, larger)
		}
	}
	whole := plans[0]
	others := []string(nil)
	for at := 1; at < len(parts); at++ {
		whole.Seconds += plans[at].Seconds
		whole.Products += plans[at].Products
		if parts[at].Neighbors == nil || at == search {
			whole.addShares(plans[at].Shares, addSaturated)
			others = append(others, fmt.Sprintf("%s for %s", text.Bytes(plans[at].Bytes), parts[at].kind().partName()))
		}
	}
	whole.CoordinatorBytes = CoordinatorBytes(parts)
	if len(others) > 0 {
		whole.Why += "; in addition, if memory allows: " + strings.Join(others, " and ")
	}
	return whole, nil
}

// CoordinatorBytes returns the coordinator's memory for all parts of a job.
func CoordinatorBytes(parts []Workload) int64 {
	bytes := int64(0)
	for _, part := range parts {
		bytes = addSaturated(bytes, part.CoordinatorBytes())
	}
	return bytes
}

func larger(a, b int64) int64 { return max(a, b) }

// addShares adds what another part of the job takes on the same workers, up to the memory of each. combine returns what
// two parts take together.
func (p *Plan) addShares(shares []Share, combine func(a, b int64) int64) {
	for _, more := range shares {
		at := slices.IndexFunc(p.Shares, func(s Share) bool { return s.at == more.at })
		if at < 0 {
			at = len(p.Shares)
			p.Shares = append(p.Shares, Share{Worker: more.Worker, at: more.at})
		}
		before := p.Shares[at].Bytes
		p.Shares[at].Bytes = max(before, min(combine(before, more.Bytes), more.Free))
		p.Bytes += p.Shares[at].Bytes - before
	}
}
