// Package swarm decides from whom each worker gets each piece of a data set. It sends nothing and knows no clock: the
// fleet reports what happens, and carries out the assignments that Next returns.
//
// The coordinator sends a piece only if no other worker can pass it on, so that the load on its link does not grow
// with the number of workers. Workers that keep pieces get the rarest ones first, so that each has something that the
// others lack. Workers that do not keep them get them in order. A worker may need only some of the pieces.
package swarm

import "slices"

// Kind says where a piece comes from.
type Kind int

// The kinds of sources.
const (
	Coordinator Kind = iota
	Store            // the object store
	Peer             // another member
)

// Source is where a member fetches a piece.
type Source struct {
	Kind Kind
	Peer string // the member, for Peer
}

// Assignment tells a member to fetch a piece.
type Assignment struct {
	Member string
	Piece  int
	From   Source
}

// Limits limit concurrent transfers.
type Limits struct {
	Downloads   int // to one member
	Uploads     int // from one member
	Direct      int // from the coordinator to one member, so that it exchanges pieces with others meanwhile
	Coordinator int // from the coordinator to all members
	Window      int // how many pieces after its first missing one a member that keeps pieces may get
	InOrder     int // the same for a member that does not
}

// DefaultLimits keep every link busy and bound the memory of pieces on their way. With more transfers at the same
// time, each takes longer, and it takes longer until pieces can be passed on.
func DefaultLimits() Limits {
	return Limits{Downloads: 4, Uploads: 4, Direct: 2, Coordinator: 4, Window: 512, InOrder: 4}
}

const (
	// giveUpPeers is the number of peers that a member cannot reach before it asks no others for now, unless it has
	// reached one.
	giveUpPeers = 3
	// A member asks a peer, or the object store, that failed again after it got retryAfter pieces from elsewhere, twice
	// as many after each further failure. A busy network, disk or store must not make the coordinator send everything.
	retryAfter = 4
)

// Swarm is the distribution of one data set. It is not safe for concurrent use.
type Swarm struct {
	limits  Limits
	pieces  int
	known   int  // pieces before this one may be assigned: their hashes are known
	store   bool // members can read the object store
	members []*member
	byName  map[string]*member
	barred  map[string]bool // members that pass nothing on
	turn    int             // the member that is asked first
	sending int             // transfers from the coordinator
	offers  []int           // by piece: members that pass it on
	coming  []int           // by piece: transfers to members that will pass it on
}

// member is a worker that fetches pieces, or serves them, or both.
type member struct {
	name     string
	keeps    bool               // can get pieces in any order
	serves   bool               // passes pieces on
	has      []bool             // by piece: it has arrived
	wants    []bool             // by piece: needs it; nil means all
	offers   []bool             // by piece: passes it on
	first    int                // all pieces before have arrived, or are not needed
	end      int                // no piece from here on is needed
	fetching map[int]transfer   // transfers to it
	uploads  int                // transfers from it
	direct   int                // transfers from the coordinator to it
	arrived  int                // pieces that it got
	avoids   map[string]avoided // by Source.Peer, which is "" for the object store
	reached  bool               // a peer delivered a piece
}

// avoided is a peer, or the object store, that failed.
type avoided struct {
	failures int // in succession
	until    int // asked again when the member has got so many pieces
}

// transfer is a piece that a member is fetching.
type transfer struct {
	from Source
	peer *member // for Peer
}

// New returns a swarm without members.
func New(pieces int, limits Limits) *Swarm {
	return &Swarm{
		limits: limits, pieces: pieces, byName: map[string]*member{}, barred: map[string]bool{},
		offers: make([]int, pieces), coming: make([]int, pieces),
	}
}

// SetKnown sets how many of the first pieces may be assigned, because their hashes are known.
func (s *Swarm) SetKnown(pieces int) { s.known = min(pieces, s.pieces) }

// SetStore says whether members can read the object store.
func (s *Swarm) SetStore(available bool) { s.store = available }

// Join adds a member with the pieces that it has and those that it wants for now; Want adds more; nil means all. keeps
// says that it can get pieces in any order, and serves that it also passes them on. A member of the same name leaves
// first.
func (s *Swarm) Join(name string, has, wants []int, keeps, serves bool) {
	s.Leave(name)
	m := &member{
		name: name, keeps: keeps, serves: serves, end: s.pieces, has: make([]bool, s.pieces), offers: make([]bool, s.pieces),
		fetching: map[int]transfer{}, avoids: map[string]avoided{},
	}
	if wants != nil {
		m.wants, m.end = make([]bool, s.pieces), 0
	}
	s.members = append(s.members, m)
	s.byName[name] = m
	for _, p := range has {
		if p >= 0 && p < s.pieces {
			s.take(m, p)
		}
	}
	for _, p := range wants {
		s.Want(name, p)
	}
}

// Want says that a member needs one more piece.
func (s *Swarm) Want(name string, piece int) {
	m := s.byName[name]
	if m != nil && piece >= 0 && piece < s.pieces {
		m.want(piece)
	}
}

func (m *member) want(piece int) {
	if m.wants != nil {
		m.wants[piece] = true
	}
	m.first, m.end = min(m.first, piece), max(m.end, piece+1)
	m.advance()
}

// advance finds the first piece that is missing.
func (m *member) advance() {
	for m.first < m.end && (m.has[m.first] || !m.needs(m.first)) {
		m.first++
	}
}

// needs reports whether a member needs a piece, if it does not have it.
func (m *member) needs(piece int) bool { return m.wants == nil || m.wants[piece] }

// Leave removes a member. Transfers from it that are in progress end with Arrived or Failed, like all others.
func (s *Swarm) Leave(name string) {
	m := s.byName[name]
	if m == nil {
		return
	}
	for p := range m.fetching {
		s.endTransfer(m, p)
	}
	for p := range s.pieces {
		s.withdraw(m, p)
	}
	delete(s.byName, name)
	s.members = slices.DeleteFunc(s.members, func(o *member) bool { return o == m })
}

// Arrived reports that a member has a piece that was assigned to it, and returns the source.
func (s *Swarm) Arrived(name string, piece int) (from Source, assigned bool) {
	m, from, assigned := s.assigned(name, piece)
	if !assigned {
		return from, false
	}
	s.endTransfer(m, piece)
	m.arrived++
	if from.Kind != Coordinator {
		m.reached = m.reached || from.Kind == Peer
		delete(m.avoids, from.Peer)
	}
	s.take(m, piece)
	return from, true
}

// Failed reports that a member could not get a piece that was assigned to it, and returns the source. missing says that
// the source does not have the piece; otherwise it was not reached, was too slow, refused, or sent other bytes.
func (s *Swarm) Failed(name string, piece int, missing bool) (from Source, assigned bool) {
	m, from, assigned := s.assigned(name, piece)
	if !assigned {
		return from, false
	}
	s.endTransfer(m, piece)
	peer := s.byName[from.Peer]
	switch {
	case from.Kind == Coordinator:
	case missing && peer != nil:
		s.withdraw(peer, piece)
	default:
		m.avoid(from.Peer)
	}
	return from, true
}

// avoid records that a peer, or the object store, failed. Transfers that fail together count once.
func (m *member) avoid(source string) {
	if m.avoiding(source) {
		return
	}
	a := m.avoids[source]
	a.until = m.arrived + retryAfter<<min(a.failures, 16)
	a.failures++
	m.avoids[source] = a
}

// avoiding reports whether a peer, or the object store, is not asked for now.
func (m *member) avoiding(source string) bool { return m.arrived < m.avoids[source].until }

// Bar excludes a member, present or future, as a source of pieces.
func (s *Swarm) Bar(name string) {
	s.barred[name] = true
	if m := s.byName[name]; m != nil {
		for p := range s.pieces {
			s.withdraw(m, p)
		}
	}
}

// Lost reports that a member has lost a piece, and whether it needs it again.
func (s *Swarm) Lost(name string, piece int, needed bool) {
	m := s.byName[name]
	if m == nil || piece < 0 || piece >= s.pieces {
		return
	}
	s.withdraw(m, piece)
	if needed && m.has[piece] {
		m.has[piece] = false
		m.want(piece)
	}
}

// assigned returns the source of a transfer that is in progress.
func (s *Swarm) assigned(name string, piece int) (*member, Source, bool) {
	m := s.byName[name]
	if m == nil {
		return nil, Source{}, false
	}
	t, is := m.fetching[piece]
	return m, t.from, is
}

// take records that a member has a piece.
func (s *Swarm) take(m *member, piece int) {
	m.has[piece] = true
	m.advance()
	if s.passesOn(m) && !m.offers[piece] {
		m.offers[piece] = true
		s.offers[piece]++
	}
}

// withdraw records that a member does not pass a piece on.
func (s *Swarm) withdraw(m *member, piece int) {
	if m.offers[piece] {
		m.offers[piece] = false
		s.offers[piece]--
	}
}

// passesOn reports whether others get pieces from a member.
func (s *Swarm) passesOn(m *member) bool { return m.serves && !s.barred[m.name] }

// begin records a transfer.
func (s *Swarm) begin(m *member, piece int, from Source) {
	t := transfer{from, s.byName[from.Peer]}
	m.fetching[piece] = t
	if m.serves {
		s.coming[piece]++
	}
	switch from.Kind {
	case Coordinator:
		s.sending++
		m.direct++
	case Peer:
		t.peer.uploads++
	}
}

// endTransfer undoes what begin counted.
func (s *Swarm) endTransfer(m *member, piece int) {
	t := m.fetching[piece]
	delete(m.fetching, piece)
	if m.serves {
		s.coming[piece]--
	}
	switch t.from.Kind {
	case Coordinator:
		s.sending--
		m.direct--
	case Peer:
		t.peer.uploads--
	}
}
