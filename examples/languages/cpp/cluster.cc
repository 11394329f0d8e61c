// Clusters the points of a CSV file over gRPC: cluster HOST:PORT FILE
#include <fstream>
#include <grpcpp/grpcpp.h>
#include <iostream>
#include <sstream>
#include "cleave/v1/dataset.grpc.pb.h"
#include "cleave/v1/job_service.grpc.pb.h"

using namespace cleave::v1;

void check(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

int main(int, char** argv) try {
  auto channel = grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials());
  CreateDatasetRequest header, values;
  std::ifstream file(argv[2]);
  std::string line, cell;
  std::getline(file, line);  // the names of the columns
  header.mutable_header()->mutable_points()->set_columns(1 + std::count(line.begin(), line.end(), ','));
  while (std::getline(file, line)) {
    for (std::istringstream cells(line); std::getline(cells, cell, ',');) values.mutable_values()->add_values(std::stod(cell));
  }
  CreateDatasetResponse dataset;
  grpc::ClientContext uploading;
  auto upload = DatasetService::NewStub(channel)->CreateDataset(&uploading, &dataset);
  upload->Write(header);
  upload->Write(values);
  upload->WritesDone();
  check(upload->Finish());

  CreateJobRequest request;
  request.set_request_id("cpp-" + std::to_string(getpid()));
  request.mutable_spec()->set_dataset_id(dataset.dataset().dataset_id());
  request.mutable_spec()->set_k(2);
  auto* pairs = request.mutable_spec()->mutable_supervision()->mutable_constraints()->mutable_inline_();
  Column *i = pairs->add_columns(), *j = pairs->add_columns(), *kind = pairs->add_columns();
  i->set_name("i"), i->mutable_integers()->add_values(0);  // rows 0 and 1 belong apart
  j->set_name("j"), j->mutable_integers()->add_values(1);
  kind->set_name("kind"), kind->mutable_texts()->add_values("cannot");
  auto jobs = JobService::NewStub(channel);
  CreateJobResponse created;
  grpc::ClientContext creating, watching, reading;
  check(jobs->CreateJob(&creating, request, &created));

  WatchJobRequest watch;
  watch.set_job_id(created.job().job_id());
  auto events = jobs->WatchJob(&watching, watch);
  for (WatchJobResponse m; events->Read(&m);) if (m.has_event()) std::cerr << "event " << m.event().sequence() << "\n";
  check(events->Finish());
  GetLabelsRequest get;
  get.set_job_id(created.job().job_id());
  auto labels = jobs->GetLabels(&reading, get);
  for (GetLabelsResponse part; labels->Read(&part);) for (auto label : part.labels()) std::cout << label << "\n";
  check(labels->Finish());
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
