package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) watchCommand() *cobra.Command {
	var after uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch JOB",
		Short: "Show a job's events as they come, until it ends; the exit code tells how",
		Args:  cobra.ArbitraryArgs,
	}
	server := addServerFlag(cmd.Flags())
	cmd.Flags().Uint64Var(&after, "after", 0, "show only events with numbers larger than `N`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every event as one line of JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onJob(*server, args, func(c *client, jobID string) error {
			return a.watch(cmd.Context(), c, jobID, after, asJSON)
		})
	}
	return cmd
}

func (a *app) watch(ctx context.Context, c *client, jobID string, after uint64, asJSON bool) error {
	var w watcher = &progress{w: a.stdout, width: terminalWidth(a.stdout), every: true, now: time.Now}
	if asJSON {
		w = &eventLines{events: a.stdout, notes: a.stderr}
	}
	ended, err := c.follow(ctx, jobID, after, w)
	if err != nil {
		return err
	}
	if err := failure(jobID, ended); err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintf(a.stdout, "%s: %s\n", word(ended.GetState()), word(ended.GetStopReason()))
	}
	return nil
}

// eventLines writes numbered events as lines of JSON; live progress is not part of the record.
type eventLines struct{ events, notes io.Writer }

func (l *eventLines) item(item *cleavev1.WatchJobResponse) {
	if item.GetEvent() == nil {
		return
	}
	if text, err := protojson.Marshal(item.GetEvent()); err == nil {
		if text, err = json.Marshal(json.RawMessage(text)); err == nil { // settles the white space
			fmt.Fprintf(l.events, "%s\n", text)
		}
	}
}

func (l *eventLines) say(format string, args ...any) { fmt.Fprintf(l.notes, format+"\n", args...) }
