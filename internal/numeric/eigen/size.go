package eigen

// blockSize returns how many pairs a search for count pairs works on: a few more, so that the last wanted ones
// converge as fast as the first.
func blockSize(count int) int { return count + 2 + count/4 }

// basisSize returns the default number of columns of a search's basis.
func basisSize(block int) int { return max(24, 5*block) }

// SearchSize returns how many vectors a search for count pairs multiplies first, and how many columns its basis may
// have.
func SearchSize(count int) (block, basis int) {
	block = blockSize(count)
	return block, basisSize(block)
}

// SearchColumns returns how many columns of n values a search for count pairs holds at its peak, for planning; a test
// compares it with the actual number. They are the basis and its products, a copy of one of the two during a restart,
// the wanted vectors' products and residuals, and the scaled, packed, multiplied and stored vectors of one step. A
// generalized problem also has products of the second matrix, and the vectors of the equations that correct residuals.
func SearchColumns(count int, generalized bool) int {
	block, basis := SearchSize(count)
	if generalized {
		return 4*basis + 16*block
	}
	return 3*basis + 6*block
}

// DenseMatrices is the number of n x n matrices in memory when a problem is solved from its entries: both matrices, a
// transposed or factored copy of each, and the eigenvectors with their workspace.
const DenseMatrices = 6

// StateColumns returns how many columns the snapshot of a search has: the basis, its products and the vectors that it
// grows by.
func StateColumns(count int, generalized bool) int {
	block, basis := SearchSize(count)
	if generalized {
		return 3*basis + block
	}
	return 2*basis + block
}
