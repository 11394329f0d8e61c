package swarm

// Next returns transfers that may begin now, and counts them as begun. Members take turns.
func (s *Swarm) Next() []Assignment {
	var all []Assignment
	for idle := 0; idle < len(s.members); {
		s.turn = (s.turn + 1) % len(s.members)
		m := s.members[s.turn]
		piece, from, found := s.choose(m)
		if !found {
			idle++
			continue
		}
		idle = 0
		s.begin(m, piece, from)
		all = append(all, Assignment{Member: m.name, Piece: piece, From: from})
	}
	return all
}

// choose returns the next piece that a member needs, and its source. A member that keeps pieces gets the rarest one
// within its window, and the first of those. Others get their first one.
func (s *Swarm) choose(m *member) (piece int, from Source, found bool) {
	if len(m.fetching) >= s.limits.Downloads {
		return 0, from, false
	}
	window := s.limits.InOrder
	if m.keeps {
		window = s.limits.Window
	}
	rarest, onlyPeers := 0, s.onlyPeers(m)
	for p := m.first; p < min(s.known, m.end) && window > 0; p++ {
		if !m.needs(p) {
			continue
		}
		window--
		if _, coming := m.fetching[p]; coming || m.has[p] {
			continue
		}
		rarity := s.offers[p] + s.coming[p]
		if found && rarity >= rarest || onlyPeers && s.offers[p] == 0 {
			continue
		}
		source, ok := s.sourceOf(m, p)
		if !ok {
			continue
		}
		piece, from, rarest, found = p, source, rarity, true
		if !m.keeps || rarest == 0 {
			break
		}
	}
	return piece, from, found
}

// sourceOf returns where a member can fetch a piece now: from the least busy peer, from the object store, or, if no
// member can pass it on, from the coordinator.
func (s *Swarm) sourceOf(m *member, piece int) (Source, bool) {
	var best *member
	passedOn := false // a member has the piece, or will have it, and passes it on
	for _, o := range s.members {
		if o == m || !s.passesOn(o) || !m.reaches(o) {
			continue
		}
		if !o.offers[piece] {
			_, coming := o.fetching[piece]
			// A member that does not pass pieces on waits until one that does has it, which may not have asked yet.
			passedOn = passedOn || coming || !m.serves && !o.has[piece] && o.needs(piece)
			continue
		}
		passedOn = true
		if o.uploads < s.limits.Uploads && (best == nil || o.uploads < best.uploads) {
			best = o
		}
	}
	switch {
	case best != nil:
		return Source{Kind: Peer, Peer: best.name}, true
	case s.reachesStore(m):
		return Source{Kind: Store}, true
	case passedOn || s.onlyPeers(m):
		return Source{}, false
	}
	return Source{Kind: Coordinator}, true
}

// onlyPeers reports whether a member can fetch from peers only for now.
func (s *Swarm) onlyPeers(m *member) bool {
	return !s.reachesStore(m) && (m.direct >= s.limits.Direct || s.sending >= s.limits.Coordinator)
}

// reachesStore reports whether a member may try to fetch from the object store now.
func (s *Swarm) reachesStore(m *member) bool { return s.store && !m.avoiding("") }

// reaches reports whether a member may try to fetch from a peer now.
func (m *member) reaches(peer *member) bool {
	if m.avoiding(peer.name) {
		return false
	}
	if m.reached {
		return true
	}
	avoided := 0
	for name := range m.avoids {
		if name != "" && m.avoiding(name) {
			avoided++
		}
	}
	return avoided < giveUpPeers
}
