package eigen

// blockSize is how many pairs a search for count pairs works on: a few more, so that the last wanted ones
// converge as fast as the first.
func blockSize(count int) int { return count + 2 + count/4 }

// basisSize is how many columns the basis of a search has by default.
func basisSize(block int) int { return max(24, 5*block) }

// SearchSize is how many vectors a search for count pairs multiplies with at first, and how many columns its
// basis has.
func SearchSize(count int) (block, basis int) {
	block = blockSize(count)
	return block, basisSize(block)
}

// SearchColumns is how many columns of n values a search for count pairs holds at its peak, for plans; a
// test compares it with what is held. They are the basis and its products, and once more what a restart
// makes of one of the two; the wanted vectors' products and residuals; and the vectors of one step, scaled,
// packed, multiplied and kept. A generalized problem has products of both matrices, and the vectors of the
// equations that correct its residuals.
func SearchColumns(count int, generalized bool) int {
	block, basis := SearchSize(count)
	if generalized {
		return 4*basis + 16*block
	}
	return 3*basis + 6*block
}

// DenseMatrices is how many matrices of n x n values a problem takes that is solved from its entries: both of
// them, each once more transposed or factored, and the eigenvectors with the work on them.
const DenseMatrices = 6

// StateColumns is how many columns the state of a search has, from which it can go on: the basis, its products and the vectors
// that it grows by.
func StateColumns(count int, generalized bool) int {
	block, basis := SearchSize(count)
	if generalized {
		return 3*basis + block
	}
	return 2*basis + block
}
