package client

// retryPolicy is the gRPC service config by which every call is repeated when the coordinator is UNAVAILABLE.
// The answer may only have been lost on the way, so that every method must bear being called twice: jobs are
// created with a request id, data sets and tables are identified by their content, and it is no error to cancel
// or delete again.
const retryPolicy = `{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["UNAVAILABLE"]}}]}`
