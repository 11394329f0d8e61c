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

// damagedValue is what List and Walk return for a damaged value, so that they can go on with the others. It does not
// decode as a protobuf message.
var damagedValue = []byte{0}

// Damaged reports whether the value of an entry that List or Walk returned is lost.
func (e Entry) Damaged() bool { return bytes.Equal(e.Value, damagedValue) }

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

// unsealValue returns the value that was sealed, and whether it is intact.
func unsealValue(key string, sealed []byte) (value []byte, intact bool) {
	if len(sealed) == 0 {
		return nil, true
	}
	if len(sealed) < sealBytes || !bytes.HasPrefix(sealed, sealMark) {
		return nil, false
	}
	value = sealed[sealBytes:]
	return value, binary.LittleEndian.Uint32(sealed[len(sealMark):]) == valueSum(key, value)
}

func valueSum(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)
}

func valueDamaged(key string) error {
	return fault.New(fault.DataLoss, ValueDamaged,
		"the value of %q in the state store is damaged: its checksum does not match; restore the state from a backup",
		key)
}
