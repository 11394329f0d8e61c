package auto

// The constants that decide which answer a user gets, in the order of the procedure. docs/design/tuning.md has the
// measurements by which most of them were chosen. Choose a new value on data sets set aside for that, then let
// `make answers` judge it on others.

// Spaces.
const (
	// DefaultNeighbors is the number of neighbors of a row in the nearest-neighbor graph.
	DefaultNeighbors = 10
	// defaultSparseNeighbors is the same for sparse rows, whose distances tell less: most of them share no column.
	defaultSparseNeighbors = 30
	// longSearch is the longest time that finding neighbors may take, in seconds on usualThreads threads. It is judged
	// by the shape of the data, because what is tried must not depend on which workers are available.
	longSearch   = 60
	usualThreads = 2
	// maxEigenvalues is the maximum of n k for which eigenvectors of a given graph are computed. It bounds memory.
	maxEigenvalues = 1 << 23
	// A mixture is fitted in this process, so the number of its values, and the multiplications of an iteration, are
	// limited.
	maxMixtureValues     = 1 << 22
	maxMixtureWork       = 1 << 27
	maxMixtureIterations = 100
	// Whitened rows are in the memory of this process, and their metric has columns x columns values.
	maxWhitenedValues  = 1 << 22
	maxWhitenedColumns = 128
)

// The answer without supervision (chooseSpace).
const (
	// cutRatio is how many times larger the normalized cut of k-means must be than that of the eigenvectors for the
	// eigenvectors to be preferred. Of simulated mixtures for which k-means is right, 5 % exceed it.
	cutRatio = 1.2
	// minClusterSize is the mean cluster size below which nearest neighbors cannot separate clusters.
	minClusterSize = 50
	// fewValues is the maximum number of distinct values of a column of numbers that may split the neighbor graph, or
	// that has no density in a mixture.
	fewValues = 10
	// sharpEdges is the ratio of edges between rows with different values to those expected by chance below which a
	// neighbor graph follows a column.
	sharpEdges = 0.15
)

// The comparison on held-out supervision (chooseByFew, chooseByFolds).
const (
	// DefaultFolds is the number of folds of the constraints.
	DefaultFolds = 3
	// enoughChecks is how many constraints must follow from others, with no contradiction, for all to be trusted. If
	// 10 % were wrong, so many checks would pass in fewer than 10 % of draws.
	enoughChecks = 10
	// A method replaces the baseline if its advantage, in standard errors, exceeds minAdvantage, which 10 % of
	// equally good methods exceed by chance. The threshold is higher if constraints contradict each other or are few.
	// If they are trusted, it suffices that the method is not clearlyWorse.
	minAdvantage       = 1.28
	minAdvantageUnsure = 1.5
	minAdvantageFew    = 2.0
	clearlyWorse       = -1.0
	// seedBonus / sqrt(m) is added to the agreement of a discriminant fitted to m seeds. In a fold it is fitted to
	// fewer seeds and gets less right than it will with all of them.
	seedBonus = 1.5
	// From manySeeds seeds on, only discriminants are tried on dense points, because no other method would be chosen.
	manySeeds = 200
	// longFit is the number of rows x columns x clusters from which a fit takes long. A method that is then more than
	// hopeless standard errors behind the best one after a fold of at least enoughInFold pairs is not fitted to the
	// other folds. About 2 % of equally good methods fall so far behind. If the answer of its space without
	// constraints is more than hopelessSpace behind, being behind in the fold suffices.
	longFit       = 1 << 20
	hopeless      = 2.0
	hopelessSpace = 3.0
	enoughInFold  = 100
)

// Fits of k-means, cuts and eigenvectors. In a fold less precision suffices, because methods are only compared.
const (
	// defaultStarts is the number of k-means++ starts of a fit, foldStarts that in a fold.
	defaultStarts = 10
	foldStarts    = 3
	// hardWeight is the weight of a hard constraint in units of the mean distortion. No point is so far away that
	// violating a constraint pays off, but among constraints that cannot all hold, distortions still decide.
	hardWeight = 64
	// softWeight is the cost of a violated constraint on levels, as a share of what its points contribute if all their
	// edges stay within their cluster. Moving a vertex with a share f of its edges there and the rest in one other
	// cluster costs about 2 (2f - 1) of that, so a constraint moves vertices between clusters, but a wrong one moves
	// none with f above 5/8.
	softWeight = 0.5
	// maxImplied is the maximum number of implied pairs for which MPC-KMeans is given all of them.
	maxImplied = 200_000
	// extreme bounds meaningful weights and units of distances; its inverse is the lower bound.
	extreme = 1e50
	// regularization is added to every degree, in units of the mean degree, so that dangling vertices do not dominate
	// eigenvectors.
	regularization = 0.01
	// eigenTolerance bounds the residuals of eigenvectors: a smaller bound does not change the labels of k-means on
	// them. foldTolerance is used instead for contracted graphs in folds.
	eigenTolerance = 1e-5
	foldTolerance  = 1e-3
	// Filters find eigenvectors faster from filteredRows rows on. Without constraints they are used for filteredPairs
	// or more: the few leading eigenvalues of a large graph can be so close to each other that filters do not separate
	// them, as with two moons of 200,000 points.
	filteredRows  = 1000
	filteredPairs = 8
	// foldSample is the number of points by which cuts compare their candidates in a fold.
	foldSample = 5000
	// searchBytes bounds the memory of fits that run at the same time. A fit to whitened rows holds whitenedCopies
	// copies of the rows. Answers do not depend on either.
	searchBytes    = 1 << 28
	whitenedCopies = 4
)

// Fits that start from known classes.
const (
	// A classifier is fitted to at most maxFitted known rows. If that would compute more than maxEntries kernel
	// values, which takes a few seconds, it is fitted to fewer rows, but at least to minFitted, and to
	// one of each class.
	maxFitted  = 2000
	minFitted  = 256
	maxEntries = 1 << 29
	// maxVoted is the maximum number of rows x fitted rows for which confidences are computed, by one classifier for
	// each fold.
	maxVoted = 1 << 27
	// maxValue is the largest magnitude, in the units of the space, that a classifier accepts: squares must fit in
	// float32.
	maxValue = 1e15
	// The scores of a row are forestWeight times those of forestTrees trees, plus the rest times those of the
	// discriminant, plus clusterShare times the shares of the classes in its cluster, plus spreadShare times the shares
	// of those that reach it.
	forestTrees  = 100
	forestWeight = 0.5
	clusterShare = 0.15
	spreadShare  = 0.25
	// passedOn is the share of its value that a vertex passes to its neighbors.
	passedOn = 0.8
	// spreadTolerance is the relative residual at which the solver stops, and spreadSteps the maximum number of steps.
	// The condition number is (1 + passedOn) / (1 - passedOn), so about 30 steps suffice. roughSpreadTolerance is used
	// instead for classifiers that know manySeeds rows or more, since what spreads is a small part of their scores.
	spreadTolerance      = 1e-8
	roughSpreadTolerance = 1e-4
	spreadSteps          = 200
)

// Whether supervision seems wrong, holds in the answer, and is reported.
const (
	// Constraints of at least this weight, and seeds of at least this probability, hold; others stay soft.
	certainWeight = 1
	// Constraints are wrong if, of minStrayAmong or more between separated clusters, at least minStrayShare are
	// must-links, after minAdvantage standard errors are subtracted. Fewer than minStrayClusters clusters may all
	// overlap, so that must-links between them prove nothing.
	minStrayShare    = 0.04
	minStrayAmong    = 30
	minStrayClusters = 8
	// Constraints also seem wrong if the data separates the clusters, but every good method contradicts the same
	// held-out constraints and the answer violates some constraints: the best method agrees by at least informative;
	// the answer contradicts at most maxContradicted; the methods that agree by at least nearlyBest of the best all
	// contradict minContradicted or more, the same ones; and the answer violates at least minViolated.
	informative     = 0.4
	nearlyBest      = 0.75
	minContradicted = 0.06
	maxContradicted = 0.25
	minViolated     = 0.05
	// nearChance is the agreement with held-out constraints below which an answer means little, and goodAgreement that
	// from which the data can contradict single constraints.
	nearChance    = 0.1
	goodAgreement = 0.6
	// listed is the maximum number of constraints or seeds that a notice names.
	listed = 5
)
