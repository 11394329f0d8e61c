package store

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/cleave-project/cleave/internal/fault"
)

// sealMark is the prefix of sealed values: their form, with its version.
var sealMark = []byte{0, 'S', 'v', 1}

// sealBytes is how many bytes of a sealed value come before the value.
const sealBytes = 4 + crc32.Size

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealValue adds a checksum of the key and the value, because a bit flip in the file of a store would otherwise
// change the state without an error. An empty value, which only marks that its key exists, stays empty.
func sealValue(key string, value []byte) []byte {
	if len(value) == 0 {
		return nil
	}
	sealed := append(make([]byte, 0, len(sealMark)+crc32.Size+len(value)), sealMark...)
	sealed = binary.LittleEndian.AppendUint32(sealed, valueSum(key, value))
	return append(sealed, value...)
}

// unsealValue returns the value that was sealed, or a fault with the reason ValueDamaged.
func unsealValue(key string, sealed []byte) (value []byte, err error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	if len(sealed) < sealBytes || !bytes.HasPrefix(sealed, sealMark) {
		return nil, valueDamaged(key)
	}
	value = sealed[sealBytes:]
	if binary.LittleEndian.Uint32(sealed[len(sealMark):]) != valueSum(key, value) {
		return nil, valueDamaged(key)
	}
	return value, nil
}

func valueSum(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)
}

func valueDamaged(key string) error {
	return fault.New(fault.DataLoss, ValueDamaged,
		"the value of %q in the state store is damaged: its checksum does not match; restore the state from a backup",
		key)
}
