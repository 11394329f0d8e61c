# Clusters the points of a CSV file over gRPC: ruby -I GENERATED cluster.rb HOST:PORT FILE
require "cleave/v1/dataset_services_pb"
require "cleave/v1/job_service_services_pb"

address, file = ARGV
points = File.readlines(file).drop(1).map { |line| line.split(",").map(&:to_f) }

datasets = Cleave::V1::DatasetService::Stub.new(address, :this_channel_is_insecure)
form = Cleave::V1::PointsForm.new(columns: points[0].size)
dataset = datasets.create_dataset([
  Cleave::V1::CreateDatasetRequest.new(header: Cleave::V1::DatasetHeader.new(points: form)),
  Cleave::V1::CreateDatasetRequest.new(values: Cleave::V1::DenseValues.new(values: points.flatten)),
]).dataset

# Rows 0 and 1 belong apart.
column = ->(name, cells) { Cleave::V1::Column.new(name: name, **cells) }
pairs = Cleave::V1::TableRows.new(columns: [
  column.("i", integers: Cleave::V1::IntegerCells.new(values: [0])),
  column.("j", integers: Cleave::V1::IntegerCells.new(values: [1])),
  column.("kind", texts: Cleave::V1::TextCells.new(values: ["cannot"])),
])
supervision = Cleave::V1::Supervision.new(constraints: Cleave::V1::TableInput.new(inline: pairs))
spec = Cleave::V1::JobSpec.new(dataset_id: dataset.dataset_id, k: 2, supervision: supervision)

jobs = Cleave::V1::JobService::Stub.new(address, :this_channel_is_insecure)
id = jobs.create_job(Cleave::V1::CreateJobRequest.new(spec: spec, request_id: "ruby-#{$$}")).job.job_id
jobs.watch_job(Cleave::V1::WatchJobRequest.new(job_id: id)).each { |m| warn "event #{m.event.sequence}: #{m.event.what}" if m.event }
jobs.get_labels(Cleave::V1::GetLabelsRequest.new(job_id: id)).each { |part| puts part.labels.to_a }
