// Clusters the points of a CSV file over REST, with the standard library alone: cluster HOST:PORT FILE
use std::io::{BufRead, BufReader, Error, Read, Result, Write};
use std::net::TcpStream;

/// Sends a request and returns the body of the response. HTTP/1.0 ends it with the connection.
fn call(address: &str, verb: &str, path: &str, body: &[u8]) -> Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "{verb} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)?;
    let mut response = BufReader::new(stream);
    let (mut status, mut line) = (String::new(), String::from("-"));
    response.read_line(&mut status)?;
    while !line.trim().is_empty() {
        line.clear();
        response.read_line(&mut line)?;
    }
    if status.contains(" 200 ") {
        return Ok(response);
    }
    response.read_to_string(&mut line)?;
    Err(Error::other(line)) // what is wrong, and what to do
}

/// Returns a text of a JSON object.
fn text(mut response: impl Read, name: &str) -> Result<String> {
    let mut json = String::new();
    response.read_to_string(&mut json)?;
    let (_, rest) = json.split_once(&format!("\"{name}\":\"")).ok_or(Error::other(json.clone()))?;
    Ok(rest.split('"').next().unwrap_or("").to_string())
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let (address, file) = (&args[1], std::fs::read(&args[2])?);
    let dataset = text(call(address, "POST", "/v1/datasets?format=csv", &file)?, "datasetId")?;
    // Rows 0 and 1 belong apart.
    let job = format!(
        r#"{{"spec": {{"datasetId": "{dataset}", "k": 2, "supervision": {{"constraints": {{"inline": {{"columns": [
            {{"name": "i", "integers": {{"values": [0]}}}}, {{"name": "j", "integers": {{"values": [1]}}}},
            {{"name": "kind", "texts": {{"values": ["cannot"]}}}}]}}}}}}}}, "requestId": "rust-{}"}}"#, std::process::id());
    let id = text(call(address, "POST", "/v1/jobs", job.as_bytes())?, "jobId")?;
    for event in call(address, "GET", &format!("/v1/jobs/{id}/events"), b"")?.lines() {
        eprintln!("{}", event?);
    }
    for line in call(address, "GET", &format!("/v1/jobs/{id}/labels?format=csv"), b"")?.lines().skip(1) {
        println!("{}", line?.split(',').nth(1).unwrap_or(""));
    }
    Ok(())
}
