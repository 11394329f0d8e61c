// Clusters the points of a CSV file over gRPC: java Cluster HOST:PORT FILE
import cleave.v1.*;
import cleave.v1.DatasetOuterClass.*;
import cleave.v1.JobServiceOuterClass.*;
import cleave.v1.Spec.*;
import cleave.v1.TableOuterClass.*;
import io.grpc.ManagedChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.nio.file.*;
import java.util.concurrent.CompletableFuture;

public class Cluster {
  public static void main(String[] args) throws Exception {
    var channel = ManagedChannelBuilder.forTarget(args[0]).usePlaintext().build();
    var lines = Files.readAllLines(Path.of(args[1]));
    var values = DenseValues.newBuilder();
    for (var line : lines.subList(1, lines.size())) for (var cell : line.split(",")) values.addValues(Double.parseDouble(cell));
    var points = PointsForm.newBuilder().setColumns(lines.get(0).split(",").length);
    var dataset = new CompletableFuture<CreateDatasetResponse>();
    var upload = DatasetServiceGrpc.newStub(channel).createDataset(new StreamObserver<>() {
      public void onNext(CreateDatasetResponse response) { dataset.complete(response); }
      public void onError(Throwable error) { dataset.completeExceptionally(error); }
      public void onCompleted() {}
    });
    upload.onNext(CreateDatasetRequest.newBuilder().setHeader(DatasetHeader.newBuilder().setPoints(points)).build());
    upload.onNext(CreateDatasetRequest.newBuilder().setValues(values).build());
    upload.onCompleted();

    // Rows 0 and 1 belong apart.
    var pairs = TableRows.newBuilder()
        .addColumns(Column.newBuilder().setName("i").setIntegers(IntegerCells.newBuilder().addValues(0)))
        .addColumns(Column.newBuilder().setName("j").setIntegers(IntegerCells.newBuilder().addValues(1)))
        .addColumns(Column.newBuilder().setName("kind").setTexts(TextCells.newBuilder().addValues("cannot")));
    var spec = JobSpec.newBuilder().setDatasetId(dataset.get().getDataset().getDatasetId()).setK(2)
        .setSupervision(Supervision.newBuilder().setConstraints(TableInput.newBuilder().setInline(pairs)));
    var jobs = JobServiceGrpc.newBlockingStub(channel);
    var request = CreateJobRequest.newBuilder().setSpec(spec).setRequestId("java-" + ProcessHandle.current().pid()).build();
    var id = jobs.createJob(request).getJob().getJobId();
    jobs.watchJob(WatchJobRequest.newBuilder().setJobId(id).build())
        .forEachRemaining(m -> { if (m.hasEvent()) System.err.println("event " + m.getEvent().getSequence() + ": " + m.getEvent().getWhatCase()); });
    jobs.getLabels(GetLabelsRequest.newBuilder().setJobId(id).build())
        .forEachRemaining(part -> part.getLabelsList().forEach(System.out::println));
    channel.shutdown();
  }
}
