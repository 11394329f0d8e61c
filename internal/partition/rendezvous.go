package partition

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
)

// preference lists the hosts in the order in which a tile prefers them.
func preference(key string, tile int, hosts []Host) []int {
	order, scores := make([]int, len(hosts)), make([]float64, len(hosts))
	for h := range hosts {
		order[h], scores[h] = h, score(key, tile, hosts[h])
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(hosts[a].ID, hosts[b].ID))
	})
	return order
}

// score is -weight/ln(u), where u in (0, 1) is a hash of the key, the tile and the host.
func score(key string, tile int, host Host) float64 {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	hash.Write(binary.LittleEndian.AppendUint64([]byte{0}, uint64(tile)))
	hash.Write([]byte(host.ID))
	u := (float64(mix(hash.Sum64())>>11) + 0.5) / (1 << 53)
	return -weight(host) / math.Log(u)
}

// mix spreads every bit over all others. It is the finalizer of splitmix64; with FNV alone, similar texts have
// similar high bits.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
