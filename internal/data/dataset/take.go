package dataset

// Take makes a data set of some rows of points or of a kernel matrix. Of a graph it is all of it.
func Take(data Dataset, rows []int32) (Dataset, error) {
	switch data := data.(type) {
	case *Points:
		values := make([]float64, 0, len(rows)*data.D)
		for _, i := range rows {
			values = append(values, data.Row(int(i))...)
		}
		return &Points{N: len(rows), D: data.D, Values: values, Words: data.Words}, nil
	case *SparsePoints:
		starts, columns, values := []int64{0}, []int32(nil), []float64(nil)
		for _, i := range rows {
			c, v := data.Row(int(i))
			columns, values = append(columns, c...), append(values, v...)
			starts = append(starts, int64(len(columns)))
		}
		return NewSparsePoints(len(rows), data.D, starts, columns, values)
	case *Kernel:
		values := make([]float64, 0, len(rows)*len(rows))
		for _, i := range rows {
			row := data.Row(int(i))
			for _, j := range rows {
				values = append(values, row[j])
			}
		}
		return NewKernel(len(rows), len(rows), values)
	}
	return data, nil
}
