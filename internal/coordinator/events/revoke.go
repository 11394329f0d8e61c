package events

import cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"

// RevokeRest revokes the events that a finished run did not repeat, if they are in doubt.
func (l *Log) RevokeRest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.doubt != "" && len(l.toRepeat) > 0 {
		l.revokeLocked()
	}
}

// revokeLocked revokes the events that were not repeated.
func (l *Log) revokeLocked() {
	l.addLocked(&cleavev1.Event{What: &cleavev1.Event_Revoked{Revoked: &cleavev1.EventsRevoked{
		FirstSequence: l.toRepeat[0].GetSequence(), Message: l.doubt,
	}}})
	l.toRepeat = nil
}

// valid returns the events that were not revoked.
func valid(events []*cleavev1.Event) []*cleavev1.Event {
	var left []*cleavev1.Event
	for _, e := range events {
		revoked := e.GetRevoked()
		if revoked == nil {
			left = append(left, e)
			continue
		}
		for len(left) > 0 && left[len(left)-1].GetSequence() >= revoked.GetFirstSequence() {
			left = left[:len(left)-1]
		}
	}
	return left
}
