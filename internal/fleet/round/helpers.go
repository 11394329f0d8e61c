package round

// Helper is a worker that can do some of the work of another one.
type Helper struct {
	Worker  string
	Threads int
	Free    int64 // bytes
}

// Tile is a tile of a late worker.
type Tile struct {
	Number int
	Forms  []Form // in which the job allows a copy of it, the best first
}

// Form is a form in which a worker can hold a tile.
type Form struct {
	Stored bool // the entries of the tile are stored
	Bytes  int64
}

// Copy is a tile that a helper builds, in one of its forms.
type Copy struct {
	Tile int
	Form
}

// Share is the copies that one helper builds.
type Share struct {
	Worker string
	Copies []Copy
}

// Distribute gives each tile to the helper that has the fewest for each of its threads and room for the tile, the first
// of them if there are several. A helper takes a tile in the best form that it has room for. Distribute returns the
// shares in the order in which helpers got their first tile, and false if nobody has room for one of the tiles.
func Distribute(tiles []Tile, helpers []Helper) ([]Share, bool) {
	var shares []Share
	of := make([]int, len(helpers)) // by helper: its place in shares, from 1; 0 if it has none
	free := make([]int64, len(helpers))
	for at, h := range helpers {
		free[at] = h.Free
	}
	load := func(at int) float64 {
		if of[at] == 0 {
			return 0
		}
		return float64(len(shares[of[at]-1].Copies)) / float64(helpers[at].Threads)
	}
	for _, tile := range tiles {
		best := -1
		var form Form
		for at := range helpers {
			possible, fits := firstThatFits(tile.Forms, free[at])
			if fits && (best < 0 || load(at) < load(best)) {
				best = at
				form = possible
			}
		}
		if best < 0 {
			return nil, false
		}
		if of[best] == 0 {
			shares = append(shares, Share{Worker: helpers[best].Worker})
			of[best] = len(shares)
		}
		share := &shares[of[best]-1]
		share.Copies = append(share.Copies, Copy{Tile: tile.Number, Form: form})
		free[best] -= form.Bytes
	}
	return shares, true
}

func firstThatFits(forms []Form, free int64) (Form, bool) {
	for _, form := range forms {
		if form.Bytes <= free {
			return form, true
		}
	}
	return Form{}, false
}
