package partition

import (
	"encoding/binary"
	"hash/fnv"
	"math"
)

// score returns how much a tile, given by its hash, prefers a host: -weight/ln(u), where u in (0, 1) is a hash of the
// key, the tile and the host. It is computed for every pair of a tile and a host, so both are hashed only once.
func (l *Layout) score(tile uint64, host int) float64 {
	u := (float64(Mix(tile^l.hash[host])>>11) + 0.5) / (1 << 53)
	return -weight(l.hosts[host]) / math.Log(u)
}

// hashOf returns the hash by which a tile prefers hosts. All tiles prefer the same host if runs are kept: it takes the
// first run, the next one the second, and so on.
func (l *Layout) hashOf(tile int) uint64 {
	if l.runs {
		tile = 0
	}
	return hashTile(l.key, tile)
}

// hashTile returns the hash of a tile of the job with this key.
func hashTile(key string, tile int) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	hash.Write(binary.LittleEndian.AppendUint64([]byte{0}, uint64(tile)))
	return Mix(hash.Sum64())
}

// hashHost returns the hash of a host.
func hashHost(id string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(id))
	return hash.Sum64()
}

// Mix spreads every bit over all others. It is the finalizer of splitmix64; with FNV alone, similar texts have
// similar high bits.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
