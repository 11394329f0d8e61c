# Clusters the points of a CSV file over REST: Rscript cluster.R HOST:PORT FILE
library(curl)
library(jsonlite)

args <- commandArgs(trailingOnly = TRUE)
api <- paste0("http://", args[1], "/v1")

post <- function(path, body) {
  response <- curl_fetch_memory(paste0(api, path), new_handle(copypostfields = body))
  answer <- fromJSON(rawToChar(response$content))
  if (response$status_code != 200) stop(answer$message) # what is wrong, and what to do
  answer
}

text <- paste(readLines(args[2]), collapse = "\n")
dataset <- post("/datasets?format=csv", text)$dataset
# Rows 0 and 1 belong apart.
pairs <- list(columns = list(
  list(name = "i", integers = list(values = list(0))),
  list(name = "j", integers = list(values = list(1))),
  list(name = "kind", texts = list(values = list("cannot")))
))
spec <- list(datasetId = dataset$datasetId, k = 2, supervision = list(constraints = list(inline = pairs)))
job <- post("/jobs", toJSON(list(spec = spec, requestId = paste0("r-", Sys.getpid())), auto_unbox = TRUE))$job

stream_in(curl(paste0(api, "/jobs/", job$jobId, "/events")), verbose = FALSE, pagesize = 1,
          handler = function(message) if (!is.null(message$event)) cat("event", message$event$sequence, "\n", file = stderr()))
labels <- read.csv(curl(paste0(api, "/jobs/", job$jobId, "/labels?format=csv")))
cat(labels$label, sep = "\n")
