// Package clustering holds what all algorithms share: the spec of a job, the Stepper interface that every algorithm
// implements, the loop that runs methods and their restarts, and the result. The algorithms themselves are in the
// packages below it, such as kmeans, kernelkmeans and spectral. None of them logs, reads a clock, or knows where rows
// are stored.
//
// # One restart, from the spec to the result
//
// Prepare of a family turns a Spec and a data set into its Problem: checked options, the matrix or the rows to work on,
// and which start each restart has. A Problem with an executor is a Job. Run calls
//
//	Job.Begin              what all restarts share: a Setup; that of kernelkmeans sets the weights
//	Setup.NewStepper       one Stepper for each restart
//	Stepper.Init           the first labels, or Stepper.Restore, from a snapshot
//	Stepper.Step           one iteration, until a Report says Stop or MaxIterations are done
//	Stepper.FillResult     what only the restart knows, for the best one
//	Setup.FillResult       what all share
//
// Eight words are enough to read on:
//
//   - An executor runs one operation over all rows, wherever they are: kernelkmeans.Executor for a matrix,
//     kmeans.Executor for rows. A local one is a shard with all tiles; that of package fleet asks workers.
//   - A tile is a range of rows, cut by n alone. A shard holds some tiles and their sums.
//   - A Stepper is one restart as a state machine. It blocks on its executor and on nothing else.
//   - A Lane connects a restart to the executor, which keeps one labeling for each lane.
//   - An Operation is something that restarts ask of the executor. The questions of all lanes are answered together, so
//     that one pass over the rows serves all restarts.
//   - The schedule runs each restart as a coroutine until its next question, and then answers those that wait.
//   - An attempt is a restart with its snapshot: it saves the state before a step, and restores it after a crash.
//   - An Observer receives events and notices, those of one restart after those of another, however they ran.
//
// What a change must not break:
//
//   - The answer to a question depends on that question and on the labels of its lane, never on what else is answered
//     with it. So a restart has the same bits alone, among others, and on any number of workers.
//   - Sums are exact (kernel.Grid, vector.RowSpec). A sum that was updated equals one that was computed anew, so an
//     operation may be repeated, a lost tile rebuilt, and a state saved without its sums. What is not exact in this
//     sense must be part of Save.
//   - Other totals over rows are taken per tile, in row order, and then in tile order (partition.SumByTile), and a
//     product that is added is rounded first: float64(a*b), since some processors would fuse the two.
//   - Of equal candidates the one with the lowest number wins.
//   - The labels of an executor change only by its Load, Update and Step. A Setup knows them and computes moves from
//     them. A Stepper whose Step fails keeps the labels of its last Report.
//   - Random numbers come from a stream (Spec.Source). A restart draws only from its own, and saves its state.
//   - What a Stepper returns as its Value is minimized, and NaN loses.
//
// # Papers
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
