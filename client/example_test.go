package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/cleave-project/cleave/client"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

var sixPoints = [][]float64{{0}, {1}, {2}, {10}, {11}, {12}}

// Cluster six points, of which the first and the fourth belong apart.
func Example() {
	address, stop := startCoordinator()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	c, err := client.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	points, err := c.UploadPoints(ctx, "six points", sixPoints)
	if err != nil {
		log.Fatal(err)
	}
	pairs, err := c.UploadTable(ctx, "one pair", client.Integers("i", 0), client.Integers("j", 3),
		client.Texts("kind", "cannot"))
	if err != nil {
		log.Fatal(err)
	}
	job, err := c.CreateJob(ctx, &cleavev1.CreateJobRequest{
		RequestId: "nightly 2026-11-17", // a second call with this ID returns the same job
		Spec: &cleavev1.JobSpec{
			Data:      &cleavev1.JobSpec_DatasetId{DatasetId: points},
			Clusters:  &cleavev1.JobSpec_K{K: 2},
			Algorithm: &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}},
			Supervision: &cleavev1.Supervision{
				Constraints: &cleavev1.TableInput{Source: &cleavev1.TableInput_TableId{TableId: pairs}},
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if job, err = c.Wait(ctx, job.GetJobId()); err != nil {
		log.Fatal(err)
	}
	labels, err := c.Labels(ctx, job.GetJobId())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(labels[0] == labels[1], labels[0] == labels[3])
	// Output: true false
}

// Print the events of a job. A program that is started again continues after the last event that it has seen.
func ExampleClient_Follow() {
	address, stop := startCoordinator()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	points, err := c.UploadPoints(ctx, "six points", sixPoints)
	if err != nil {
		log.Fatal(err)
	}
	job, err := c.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: points}, Clusters: &cleavev1.JobSpec_K{K: 2},
		Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	last := uint32(0)
	for item, err := range c.Follow(ctx, job.GetJobId(), last) {
		if err != nil {
			log.Fatal(err)
		}
		event := item.GetEvent()
		if event == nil {
			continue // live progress
		}
		last = event.GetSequence()
		if ended := event.GetEnded(); ended != nil {
			fmt.Println(ended.GetState(), "after events:", last > 1)
		}
	}
	// Output: JOB_STATE_SUCCEEDED after events: true
}

// Errors have a reason for programs and a sentence for people.
func ExampleError() {
	address, stop := startCoordinator()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	points, err := c.UploadPoints(ctx, "six points", sixPoints)
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: points}, Clusters: &cleavev1.JobSpec_K{K: 9},
	}})
	var failed *client.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Code, failed.Reason, failed.Field)
		fmt.Println(failed)
		fmt.Println("try again:", failed.Temporary())
	}
	// Output:
	// InvalidArgument BAD_K spec.k
	// k is 9 but there are only 6 rows; k must be at most the number of rows
	// try again: false
}

// Send a million points without having them all in memory.
func ExampleClient_UploadRows() {
	address, stop := startCoordinator()
	defer stop()
	ctx := context.Background()
	c, err := client.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	const rows = 1_000_000
	id, err := c.UploadRows(ctx, "a line", 2, func(yield func([]float64, error) bool) {
		row := make([]float64, 2)
		for at := range rows {
			row[0], row[1] = float64(at), float64(2*at)
			if !yield(row, nil) {
				return
			}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	stored, err := c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stored.GetDataset().GetRows())
	// Output: 1000000
}
