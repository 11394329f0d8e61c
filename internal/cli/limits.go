package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) limitsCommand() *cobra.Command {
	return a.listingCommand("limits", "Show how much a coordinator takes, and how much of it is in use", func(ctx context.Context, c *client.Client, asJSON bool) error {
		response, err := c.Cluster.GetLimits(ctx, &cleavev1.GetLimitsRequest{})
		if err != nil {
			return err
		}
		if asJSON {
			return report.PrintMessage(a.stdout, response)
		}
		return a.printLimits(response)
	})
}

// printLimits prints a line for each field of the limits, with what is in use of it.
func (a *app) printLimits(response *cleavev1.GetLimitsResponse) error {
	usage := response.GetUsage()
	inUse := map[string]string{
		"jobs_running": fmt.Sprint(usage.GetJobsRunning()), "jobs_queued": fmt.Sprint(usage.GetJobsQueued()),
		"jobs_queued_per_owner": fmt.Sprint(usage.GetJobsQueuedOwn()), "calls": fmt.Sprint(usage.GetCalls()), "streams": fmt.Sprint(usage.GetStreams()),
	}
	if response.GetLimits().GetDiskQuotaBytes() > 0 {
		inUse["disk_quota_bytes"] = text.Bytes(usage.GetDiskBytes())
	}
	table := tabwriter.NewWriter(a.folded(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LIMIT\tVALUE\tIN USE")
	limits := response.GetLimits().ProtoReflect()
	fields := limits.Descriptor().Fields()
	for at := range fields.Len() {
		field := fields.Get(at)
		name := string(field.Name())
		shown := strings.ReplaceAll(strings.Replace(name, "bytes_per_second", "rate", 1), "_", " ")
		fmt.Fprintf(table, "%s\t%s\t%s\n", strings.TrimSuffix(shown, " bytes"), limitValue(limits, field), inUse[name])
	}
	return table.Flush()
}

// limitValue shows a limit.
func limitValue(limits protoreflect.Message, field protoreflect.FieldDescriptor) string {
	const none = "none"
	if !limits.Has(field) {
		return none
	}
	value := limits.Get(field)
	if field.Kind() == protoreflect.MessageKind {
		time := shell.Duration(value.Message().Interface().(*durationpb.Duration).AsDuration())
		return time.String()
	}
	switch name := string(field.Name()); {
	case strings.Contains(name, "bytes_per_second"):
		return text.Bytes(value.Uint()) + "/s"
	case strings.Contains(name, "bytes"):
		return text.Bytes(value.Uint())
	}
	return fmt.Sprint(value.Uint())
}
