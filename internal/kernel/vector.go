package kernel

// The inner loops over one column of a dense tile. Everything that is worth writing in assembly is
// behind these functions, products and Spec.entries.

func add(dst []float64, column []float32) {
	dst = dst[:len(column)]
	for r, v := range column {
		dst[r] += float64(v)
	}
}

func subtract(dst []float64, column []float32) {
	dst = dst[:len(column)]
	for r, v := range column {
		dst[r] -= float64(v)
	}
}

func addScaled(dst []float64, column []float32, x float64) {
	dst = dst[:len(column)]
	for r, v := range column {
		dst[r] += float64(float64(v) * x)
	}
}
