package simulation

import "encoding/binary"

// preface is what an HTTP/2 client sends before its first frame.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const frameHeader = 9 // bytes: a length of 3, type, flags, a stream of 4

// splitter cuts the bytes of one direction of a connection into HTTP/2 frames, so that a fault falls between two
// messages whichever way gRPC grouped them into writes.
type splitter struct {
	begun   bool
	partial []byte
}

// split calls take with each frame that is complete now. What carries a message of an RPC, or its start or end, is told
// apart from the pings, windows and settings of the connection itself: how many there are of those depends on chance.
func (s *splitter) split(data []byte, take func(frame []byte, message bool)) {
	s.partial = append(s.partial, data...)
	if !s.begun {
		if len(s.partial) >= len(preface) && string(s.partial[:len(preface)]) == preface {
			s.emit(len(preface), false, take)
		} else if len(s.partial) < frameHeader || s.partial[0] == preface[0] && len(s.partial) < len(preface) {
			return
		}
		s.begun = true
	}
	for len(s.partial) >= frameHeader {
		length := int(binary.BigEndian.Uint32(s.partial[:4]) >> 8)
		if len(s.partial) < frameHeader+length {
			return
		}
		const data, headers = 0, 1
		kind := s.partial[3]
		s.emit(frameHeader+length, kind == data && length > 0 || kind == headers, take)
	}
}

func (s *splitter) emit(length int, message bool, take func([]byte, bool)) {
	frame := append([]byte(nil), s.partial[:length]...)
	s.partial = s.partial[length:]
	take(frame, message)
}
