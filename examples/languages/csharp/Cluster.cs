// Clusters the points of a CSV file over REST: Cluster HOST:PORT FILE
using System;
using System.Diagnostics;
using System.IO;
using System.Net.Http;
using System.Text.RegularExpressions;

static class Cluster {
  static readonly HttpClient http = new HttpClient { Timeout = System.Threading.Timeout.InfiniteTimeSpan };

  static string Post(string url, HttpContent body) {
    var response = http.PostAsync(url, body).Result;
    var text = response.Content.ReadAsStringAsync().Result;
    if (!response.IsSuccessStatusCode) throw new Exception(text); // what is wrong, and what to do
    return text;
  }

  static string Field(string json, string name) => Regex.Match(json, "\"" + name + "\":\"([^\"]*)\"").Groups[1].Value;

  static void Main(string[] args) {
    var api = "http://" + args[0] + "/v1";
    var dataset = Field(Post(api + "/datasets?format=csv", new ByteArrayContent(File.ReadAllBytes(args[1]))), "datasetId");
    // Rows 0 and 1 belong apart.
    var pairs = @"{""columns"": [{""name"": ""i"", ""integers"": {""values"": [0]}}, {""name"": ""j"", ""integers"": {""values"": [1]}},
      {""name"": ""kind"", ""texts"": {""values"": [""cannot""]}}]}";
    var job = @"{""spec"": {""datasetId"": """ + dataset + @""", ""k"": 2, ""supervision"": {""constraints"": {""inline"": " + pairs + @"}}},
      ""requestId"": ""csharp-" + Process.GetCurrentProcess().Id + @"""}";
    var id = Field(Post(api + "/jobs", new StringContent(job)), "jobId");
    using (var events = new StreamReader(http.GetStreamAsync(api + "/jobs/" + id + "/events").Result)) {
      for (string line; (line = events.ReadLine()) != null;) Console.Error.WriteLine(line);
    }
    using (var labels = new StringReader(http.GetStringAsync(api + "/jobs/" + id + "/labels?format=csv").Result)) {
      labels.ReadLine(); // the names of the columns
      for (string line; (line = labels.ReadLine()) != null;) Console.WriteLine(line.Split(',')[1]);
    }
  }
}
