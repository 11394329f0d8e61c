package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/render/page"
)

// maxClass is how long the class of a cluster may be on the page.
const maxClass = 40

// clusterClass is the class of a cluster, "" if it has none.
func (b *pageBuilder) clusterClass(cluster int) string {
	if cluster >= len(b.classes) {
		return ""
	}
	return page.Short(b.classes[cluster], maxClass)
}

// ofCluster is a cell that names a cluster.
func (b *pageBuilder) ofCluster(cluster int) page.Cell {
	return page.OfCluster(cluster, b.clusterClass(cluster))
}

// clusterWords is a cluster within a sentence.
func (b *pageBuilder) clusterWords(cluster int) string {
	if class := b.clusterClass(cluster); class != "" {
		return fmt.Sprintf("cluster %d (%s)", cluster, page.Isolated(class))
	}
	return fmt.Sprintf("cluster %d", cluster)
}

// sizeWords are the sizes of the clusters that are not empty, with their classes, the largest first.
func (b *pageBuilder) sizeWords() (words []string) {
	sizes := b.sizesOf()
	order := make([]int, 0, b.k)
	for cluster, size := range sizes {
		if size > 0 {
			order = append(order, cluster)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(sizes[y], sizes[x]) })
	for _, cluster := range order {
		word := page.Count(sizes[cluster])
		if class := b.clusterClass(cluster); class != "" {
			word += " (" + page.Isolated(class) + ")"
		}
		words = append(words, word)
	}
	return words
}
