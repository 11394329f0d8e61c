package coordinator

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/httpapi"
	"github.com/cleave-project/cleave/internal/coordinator/imports"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/results"
)

// calls is what answers calls: the servers, their services, and what these share.
type calls struct {
	room      *api.Room
	uploads   *datasets.Uploads
	importer  *imports.Importer
	downloads *queue.DownloadMemory
	jobs      *api.Jobs

	port   *httpapi.Port
	server *grpc.Server
	http   *httpapi.Server
	health *health.Server
}

// newCalls returns what answers calls on a port once it serves.
func (c *Coordinator) newCalls(port *httpapi.Port) *calls {
	s, r := c.storage, c.runs
	a := &calls{
		room: &api.Room{
			Limits: c.cfg.Limits, Calls: c.memory.calls, Blobs: s.blobs, Quota: r.retention,
			Jobs: r.jobs, Datasets: s.datasets, Tables: s.tables, Problems: r.problems,
		},
		uploads: datasets.NewUploads(datasets.UploadLimits{
			Memory: c.memory.uploads, MessageBytes: c.cfg.MaxMessageBytes, Stall: c.cfg.UploadStall,
			Rate: c.cfg.Limits.UploadRate, RatePerOwner: c.cfg.Limits.UploadRatePerOwner,
		}),
		downloads: queue.NewDownloadMemory(c.memory.downloads, c.memory.large, c.cfg.Limits.SlowReader),
		port:      port,
	}
	a.importer = imports.New(c.cfg.Imports, imports.Dependencies{
		Fleet: r.fleet, Tables: s.tables, Uploads: a.uploads, Writer: s.writer,
		CheckDisk: a.room.CheckDisk, MaxBytes: c.cfg.MaxDatasetBytes, Logger: c.log.Named("import"), Now: c.cfg.Now,
	})
	a.jobs = &api.Jobs{
		Service: results.New(c.forResults(a)),
		Manager: r.jobs, Fleet: r.fleet, Problems: r.problems, Parts: s.parts, Room: a.room,
		Writer: s.writer, Webhooks: c.cfg.Webhooks, Now: c.cfg.Now,
	}
	a.server = c.newServer(port)
	c.registerServices(a)
	r.fleet.Register(a.server)
	a.health = health.NewServer()
	a.setHealth(healthv1.HealthCheckResponse_NOT_SERVING) // until it leads
	healthv1.RegisterHealthServer(a.server, a.health)
	reflection.Register(a.server)
	a.http = c.newHTTP()
	return a
}

// forResults returns what the calls about results need.
func (c *Coordinator) forResults(a *calls) results.Dependencies {
	s, r := c.storage, c.runs
	return results.Dependencies{
		Jobs: r.jobs, Room: a.room, Parts: s.parts, Downloads: a.downloads,
		Datasets: s.datasets, Tables: s.tables, Problems: r.problems, Fleet: r.fleet,
		RowsBytes: c.memory.parts.rows, TurnWait: c.cfg.Limits.SlowReader, PredictionWait: c.cfg.LostAfter,
	}
}

// setHealth sets the health of the server and of all its services.
func (a *calls) setHealth(s healthv1.HealthCheckResponse_ServingStatus) {
	a.health.SetServingStatus("", s)
	for name := range a.server.GetServiceInfo() {
		a.health.SetServingStatus(name, s)
	}
}

// close ends all calls at once.
func (a *calls) close() {
	a.server.Stop()
	a.importer.Close()
	_ = a.http.Close()
	_ = a.port.Close()
	a.uploads.Close()
}
