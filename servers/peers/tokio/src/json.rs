use std::convert::Infallible;
use std::time::Duration;

use hyper::header::{HeaderValue, CONTENT_TYPE, SERVER};
use hyper::server::conn::Http;
use hyper::service::service_fn;
use hyper::{Body, Request, Response, StatusCode};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use tokio::net::TcpStream;

const REQUEST_LIMIT: Duration = Duration::from_secs(60);

/// As long as the name in heddle's answers, so all answers are equally long.
const SERVER_NAME: &str = "tokio1";

struct Greeting {
    message: &'static str,
}

impl Serialize for Greeting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Greeting", 1)?;
        object.serialize_field("message", self.message)?;
        object.end()
    }
}

pub fn json() -> ! {
    crate::run(&[], |_| {
        let mut http = Http::new();
        http.http1_only(true)
            .http1_half_close(true)
            .http1_header_read_timeout(REQUEST_LIMIT)
            .http1_title_case_headers(true);
        move |stream, _| serve(http.clone(), stream)
    })
}

async fn serve(http: Http, stream: TcpStream) {
    if stream.set_nodelay(true).is_ok() {
        // A client's fault is no news.
        let _ = http.serve_connection(stream, service_fn(answer)).await;
    }
}

async fn answer(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    let (status, kind, body) = match request.uri().path() {
        "/json" => {
            let body = serde_json::to_vec(&Greeting {
                message: "Hello, World!",
            });
            (
                StatusCode::OK,
                "application/json",
                body.expect("strings only").into(),
            )
        }
        "/plaintext" => (StatusCode::OK, "text/plain", "Hello, World!".into()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "Not Found\n".into()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(SERVER, HeaderValue::from_static(SERVER_NAME));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
