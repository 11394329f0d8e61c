// Package clustering holds what all algorithms share: the spec of a job, the Stepper interface that every algorithm
// implements, the loop that runs methods and their restarts, and the result. The algorithms themselves are in the
// packages below it, such as kmeans, kernelkmeans and spectral. None of them logs, reads a clock, or knows where rows
// are stored.
//
// Comments of this package, of those below it, and of packages kernel, inference and metric cite these papers by short
// names, often with the number of an equation, a figure or a section:
//
//   - Basu2002: S. Basu, A. Banerjee and R. J. Mooney, Semi-supervised clustering by seeding. ICML 2002.
//   - Basu2003: S. Basu, M. Bilenko and R. J. Mooney, Comparing and unifying search-based and similarity-based
//     approaches to semi-supervised clustering. ICML workshop, 2003.
//   - Bilenko2004: M. Bilenko and S. Basu, A comparison of inference techniques for semi-supervised clustering with
//     hidden Markov random fields. ICML workshop, 2004.
//   - Dhillon2007: I. Dhillon, Y. Guan and B. Kulis, Weighted graph cuts without eigenvectors: a multilevel approach.
//     IEEE Transactions on Pattern Analysis and Machine Intelligence, 2007.
//   - Kulis2009: B. Kulis, S. Basu, I. Dhillon and R. Mooney, Semi-supervised graph clustering: a kernel approach.
//     Machine Learning, 2009.
//   - Wang2014: X. Wang, B. Qian and I. Davidson, On constrained spectral clustering and its applications. Data Mining
//     and Knowledge Discovery, 2014.
package clustering
