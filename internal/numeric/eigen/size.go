package eigen

// blockSize is how many pairs a search for count pairs works on: a few more, so that the last wanted ones
// converge as fast as the first.
func blockSize(count int) int { return count + 2 + count/4 }

// basisSize is how many columns the basis of a search has by default.
func basisSize(block int) int { return max(24, 5*block) }

// SearchSize returns how many vectors a search for count pairs multiplies with at first, and how many columns its basis
// has.
func SearchSize(count int) (block, basis int) {
	block = blockSize(count)
	return block, basisSize(block)
}

// SearchColumns returns how many columns of n values a search for count pairs holds at its peak, for planning; a test
// compares it with what is held. They are the basis and its products, and one of the two once more during a restart;
// the wanted vectors' products and residuals; and the vectors of one step, scaled, packed, multiplied and kept. A
// generalized problem has products of both matrices, and the vectors of the equations that correct its residuals.
func SearchColumns(count int, generalized bool) int {
	block, basis := SearchSize(count)
	if generalized {
		return 4*basis + 16*block
	}
	return 3*basis + 6*block
}

// DenseMatrices is the number of n x n matrices that solving a problem from its entries takes: both matrices, each once
// more transposed or factored, and the eigenvectors with their workspace.
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
