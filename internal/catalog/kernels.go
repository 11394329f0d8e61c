package catalog

// Kernels are the kernel functions on points; the first is the default.
var Kernels = []Kernel{
	{
		Name: "gaussian", Formula: "exp(-|x-y|²/(2 rho²))", Parameters: []string{"rho"},
		ShiftInvariant: true, Definite: true, EntryNanos: 4,
	},
	{
		Name: "linear", Formula: "x.y", Definite: true, EntryNanos: 13,
	},
	{
		Name: "laplacian", Formula: "exp(-|x-y|/rho)", Parameters: []string{"rho"},
		ShiftInvariant: true, Definite: true, EntryNanos: 28,
	},
	{
		Name: "polynomial", Formula: "(gamma x.y + coef0)^degree", Parameters: []string{"gamma", "coef0", "degree"},
		EntryNanos: 13,
	},
	{
		Name: "sigmoid", Formula: "tanh(gamma x.y + coef0)", Parameters: []string{"gamma", "coef0"},
		EntryNanos: 28,
	},
	{
		Name: "cosine", Formula: "x.y/(|x| |y|)", Definite: true, Directional: true, EntryNanos: 13,
	},
}
