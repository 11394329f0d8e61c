package parquet

import "encoding/binary"

// hybrid decodes runs of equal numbers and groups of packed ones: levels and indices of dictionaries.
type hybrid struct {
	data  []byte
	width int // of a number, in bits

	repeated uint32 // the number of a run
	inRun    int    // how many of it are left

	packed   []byte // groups of eight packed numbers
	inGroups int    // numbers that are left of them
	buffer   uint64 // bits that were read
	buffered int    // how many
}

// next fills out with the next numbers and tells whether there were enough.
func (h *hybrid) next(out []uint32) bool {
	for len(out) > 0 {
		switch {
		case h.inRun > 0:
			n := min(h.inRun, len(out))
			for at := range out[:n] {
				out[at] = h.repeated
			}
			h.inRun -= n
			out = out[n:]
		case h.inGroups > 0:
			n := min(h.inGroups, len(out))
			if !h.unpack(out[:n]) {
				return false
			}
			h.inGroups -= n
			out = out[n:]
		case !h.begin():
			return false
		}
	}
	return true
}

// skipOnes passes over the next numbers if all of them are 1, in one run. It fails where there are none.
func (h *hybrid) skipOnes(n int) (all, ok bool) {
	if h.inRun == 0 && h.inGroups == 0 && !h.begin() {
		return false, false
	}
	if h.inRun < n || h.repeated != 1 {
		return false, true
	}
	h.inRun -= n
	return true, true
}

// begin reads the header of a run or of groups.
func (h *hybrid) begin() bool {
	header, n := binary.Uvarint(h.data)
	if n <= 0 || header>>1 > 1<<31 {
		return false
	}
	h.data = h.data[n:]
	if header&1 == 1 {
		// The last group of a page may be cut off where nobody needs the rest of it.
		size := min(int(header>>1)*h.width, len(h.data))
		h.packed, h.data = h.data[:size], h.data[size:]
		h.inGroups = 8 * int(header>>1)
		h.buffer, h.buffered = 0, 0
		return true
	}
	size := (h.width + 7) / 8
	if size > len(h.data) {
		return false
	}
	h.repeated = 0
	for at := range size {
		h.repeated |= uint32(h.data[at]) << (8 * at)
	}
	h.data = h.data[size:]
	h.inRun = int(header >> 1)
	return true
}

// unpack reads packed numbers.
func (h *hybrid) unpack(out []uint32) bool {
	if h.width == 0 {
		clear(out)
		return true
	}
	mask := uint64(1)<<h.width - 1
	for at := range out {
		for h.buffered < h.width {
			if len(h.packed) >= 4 {
				h.buffer |= uint64(binary.LittleEndian.Uint32(h.packed)) << h.buffered
				h.packed = h.packed[4:]
				h.buffered += 32
			} else if len(h.packed) > 0 {
				h.buffer |= uint64(h.packed[0]) << h.buffered
				h.packed = h.packed[1:]
				h.buffered += 8
			} else {
				return false
			}
		}
		out[at] = uint32(h.buffer & mask)
		h.buffer >>= h.width
		h.buffered -= h.width
	}
	return true
}

// deltaPacked decodes DELTA_BINARY_PACKED, at most so many integers, and returns what follows them.
func deltaPacked(data []byte, most int) (numbers []int64, rest []byte, ok bool) {
	r := &thriftReader{rest: data}
	blockSize, miniBlocks, count, previous := r.unsigned(), r.unsigned(), r.unsigned(), r.signed()
	if r.failed || count > uint64(most) || miniBlocks == 0 || miniBlocks > 1<<10 || blockSize > 1<<20 || blockSize%miniBlocks != 0 ||
		blockSize/miniBlocks%8 != 0 || blockSize == 0 {
		return nil, nil, false
	}
	perMini := int(blockSize / miniBlocks)
	numbers = make([]int64, 0, count)
	if count > 0 {
		numbers = append(numbers, previous)
	}
	for len(numbers) < int(count) {
		least := r.signed()
		widths := r.take(miniBlocks)
		for _, width := range widths {
			if len(numbers) == int(count) {
				break
			}
			if width > 64 {
				return nil, nil, false
			}
			packed := r.take(uint64(perMini) / 8 * uint64(width))
			n := min(perMini, int(count)-len(numbers))
			if r.failed {
				return nil, nil, false
			}
			for at := range n {
				previous += least + int64(bitsAt(packed, at*int(width), int(width)))
				numbers = append(numbers, previous)
			}
		}
		if r.failed {
			return nil, nil, false
		}
	}
	return numbers, r.rest, true
}

// bitsAt is a number of up to 64 bits, from the lowest bit of the first byte on.
func bitsAt(data []byte, from, width int) uint64 {
	if width == 0 {
		return 0
	}
	var v uint64
	at, shift := from/8, from%8
	if at+8 <= len(data) {
		v = binary.LittleEndian.Uint64(data[at:]) >> shift
	} else {
		for i, b := range data[at:] {
			v |= uint64(b) << (8 * i)
		}
		v >>= shift
	}
	if shift+width > 64 {
		v |= uint64(data[at+8]) << (64 - shift)
	}
	return v & (1<<width - 1)
}
