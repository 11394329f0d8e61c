package main

// row is a part of the dashboard, with lines of panels. A line of six shows single values, other lines show graphs.
type row struct {
	title string
	lines [][]panel
}

// panel shows series that have the same unit, one of Grafana's.
type panel struct {
	title, unit, about string
	series             []series
}

type series struct{ expression, legend string }

// happened returns how much a counter grew in a time. increase alone would miss that a series appears with its first
// event.
func happened(counter, in string) string {
	return "(" + counter + " unless " + counter + " offset " + in + ") or increase(" + counter + "[" + in + "])"
}

const lately = "$__rate_interval"

var rows = []row{
	{"Jobs", [][]panel{
		{
			{"Leaders", "short", "One coordinator leads. 0: nothing is served.", []series{{"sum(cleave_leader)", ""}}},
			{"Workers ready", "short", "", []series{{`sum(cleave_workers{state="ready"})`, ""}}},
			{"Running jobs", "short", "", []series{{`sum(cleave_jobs{state="running"})`, ""}}},
			{"Queued jobs", "short", "", []series{{`sum(cleave_jobs{state="queued"})`, ""}}},
			{"Failed jobs, last day", "short", "", []series{
				{"round(sum(" + happened(`cleave_jobs_ended_total{state="failed"}`, "1d") + ")) or vector(0)", ""},
			}},
			{"Iterations/s", "cps", "", []series{{"sum(rate(cleave_iterations_total[$__rate_interval]))", ""}}},
		},
		{
			{"Unfinished jobs", "short", "", []series{{"sum by (state) (cleave_jobs)", "{{state}}"}}},
			{"Finished jobs by reason", "short", "", []series{
				{"sum by (state, reason) (" + happened("cleave_jobs_ended_total", lately) + ")",
					"{{state}} {{reason}}"},
			}},
			{"Time in queue", "s", "", []series{
				{"histogram_quantile(0.5, sum by (le) (rate(cleave_job_queue_seconds_bucket[$__rate_interval])))",
					"median"},
				{"histogram_quantile(0.95, sum by (le) (rate(cleave_job_queue_seconds_bucket[$__rate_interval])))",
					"95%"},
			}},
		},
		{
			{"Where jobs spend their time", "percentunit", "", []series{
				{"sum by (phase) (rate(cleave_job_phase_seconds_total[$__rate_interval])) / ignoring (phase) " +
					"group_left " +
					"sum(rate(cleave_job_phase_seconds_total[$__rate_interval]))", "{{phase}}"},
			}},
			{"Duration of jobs", "s", "", []series{
				{"histogram_quantile(0.5, sum by (le, state) (rate(cleave_job_seconds_bucket[$__rate_interval])))",
					"median {{state}}"},
				{"histogram_quantile(0.95, sum by (le, state) (rate(cleave_job_seconds_bucket[$__rate_interval])))",
					"95% {{state}}"},
			}},
			{"Iterations/s", "cps", "", []series{{"sum(rate(cleave_iterations_total[$__rate_interval]))",
				"per second"}}},
		},
	}},
	{"Operations", [][]panel{
		{
			{"Operations, 95%", "s", "", []series{
				{
					"histogram_quantile(0.95, sum by (le, operation) " +
						"(rate(cleave_operation_seconds_bucket[$__rate_interval])))", "{{operation}}"},
			}},
			{"Time in operations", "short", "Seconds per second: how many operations are in progress on average.",
				[]series{
					{"sum by (operation) (rate(cleave_operation_seconds_sum[$__rate_interval]))", "{{operation}}"},
				}},
			{"Failed commands", "short", "", []series{
				{"sum by (command, kind) (" + happened("cleave_command_failures_total", lately) + ")",
					"{{command}} {{kind}}"},
			}},
		},
		{
			{"Bytes swept, all workers", "Bps", "", []series{
				{"sum by (command) (rate(cleave_worker_swept_bytes_total[$__rate_interval]))", "{{command}}"},
			}},
			{"Command overhead (network and queueing)", "short",
				"Seconds per second: the time of commands as the coordinator sees it, less the time that workers " +
					"took for them.", []series{
					{"sum(rate(cleave_command_seconds_sum[$__rate_interval])) - " +
						"sum(rate(cleave_worker_command_seconds_sum[$__rate_interval]))",
						"seconds per second"},
				}},
			{"Tiles built/s", "cps", "", []series{{"sum(rate(cleave_tiles_built_total[$__rate_interval]))",
				"per second"}}},
			{"Tiles placed", "short", "", []series{{"sum(cleave_tiles)", "placed"}}},
		},
	}},
	{"Workers", [][]panel{
		{
			{"Workers", "short", "", []series{{"sum by (state) (cleave_workers)", "{{state}}"}}},
			{"Sessions", "short", "", []series{
				{"sum by (change) (" + happened("cleave_worker_sessions_total", lately) + ")", "{{change}}"},
				{"sum by (reason) (" + happened("cleave_workers_put_aside_total", lately) + ")",
					"put aside: {{reason}}"},
			}},
			{"Memory of workers", "bytes", "", []series{
				{"sum(cleave_workers_memory_bytes)", "offered"},
				{"sum(cleave_workers_memory_reserved_bytes)", "reserved by jobs"},
			}},
		},
		{
			{"Memory, each worker", "percentunit", "", []series{
				{"cleave_worker_memory_used_bytes / (cleave_worker_memory_limit_bytes > 0)", "{{instance}}"},
			}},
			{"Busy, each worker", "percentunit", "Share of the time with a command; above 1 with several jobs.",
				[]series{
					{"sum by (instance) (rate(cleave_worker_command_seconds_sum[$__rate_interval]))", "{{instance}}"},
				}},
			{"Fetched by workers", "Bps", "", []series{
				{"sum by (what) (rate(cleave_worker_fetched_bytes_total[$__rate_interval]))", "{{what}}"},
			}},
			{"Heartbeats/s", "cps", "", []series{
				{"sum(rate(cleave_heartbeats_total[$__rate_interval]))", "received"},
				{"sum(rate(cleave_worker_heartbeats_total[$__rate_interval]))", "sent"},
			}},
		},
	}},
	{"Stores", [][]panel{
		{
			{"State store, 99%", "s", "", []series{
				{
					`histogram_quantile(0.99, sum by (le, operation) ` +
						`(rate(cleave_store_seconds_bucket{store="state"}[$__rate_interval])))`, "{{operation}}"},
			}},
			{"Blobs, 99%", "s", "", []series{
				{
					`histogram_quantile(0.99, sum by (le, operation) ` +
						`(rate(cleave_store_seconds_bucket{store="blobs"}[$__rate_interval])))`, "{{operation}}"},
			}},
			{"Errors of stores", "short", "", []series{
				{"sum by (store, operation) (" + happened("cleave_store_errors_total", lately) + ")",
					"{{store}} {{operation}}"},
			}},
		},
		{
			{"Event flushes, 99%", "s", "", []series{
				{"histogram_quantile(0.99, sum by (le) (rate(cleave_event_flush_seconds_bucket[$__rate_interval])))",
					"99%"},
			}},
			{"Event flushes/s", "cps", "", []series{{"sum(rate(cleave_event_flush_seconds_count[$__rate_interval]))",
				"per second"}}},
			{"Bytes of blobs", "Bps", "", []series{
				{"sum by (direction) (rate(cleave_blob_bytes_total[$__rate_interval]))", "{{direction}}"},
			}},
		},
		{
			{"Uploads", "Bps", "", []series{{"sum by (kind) (rate(cleave_upload_bytes_total[$__rate_interval]))",
				"{{kind}}"}}},
			{"Memory of uploads", "bytes", "", []series{{"sum(cleave_upload_memory_held_bytes)", "held"}}},
		},
	}},
	{"Requests", [][]panel{
		{
			{"Requests", "reqps", "", []series{{"sum by (method) (rate(cleave_grpc_requests_total[$__rate_interval]))",
				"{{method}}"}}},
			{"Requests, 99%", "s", "Without streams that stay open: of workers, and of those who watch jobs.", []series{
				{`histogram_quantile(0.99, sum by (le, method) ` +
					`(rate(cleave_grpc_request_seconds_bucket` +
					`{method!~".*/(Attach|Deliver|WatchJob)"}[$__rate_interval])))`,
					"{{method}}"},
			}},
			{"Codes other than OK", "reqps", "", []series{
				{`sum by (code) (rate(cleave_grpc_requests_total{code!="OK"}[$__rate_interval]))`, "{{code}}"},
			}},
		},
	}},
	{"Processes", [][]panel{
		{
			{"Memory", "bytes", "", []series{
				{"process_resident_memory_bytes", "{{instance}}"},
				{"cleave_coordinator_memory_reserved_bytes", "reserved by jobs in the coordinator {{instance}}"},
			}},
			{"Processor", "short", "Cores in use.",
				[]series{{"rate(process_cpu_seconds_total[$__rate_interval])", "{{instance}}"}}},
			{"Goroutines", "short", "", []series{{"go_goroutines", "{{instance}}"}}},
			{"Open files", "short", "", []series{{"process_open_fds", "{{instance}}"}}},
		},
	}},
}
