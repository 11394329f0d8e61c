package metric

// Log is the natural logarithm to the same bits on every machine; of 0 it is -Inf.
func Log(x float64) float64 { return log(x) }
