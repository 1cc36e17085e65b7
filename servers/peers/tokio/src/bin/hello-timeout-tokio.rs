fn main() {
    peers_tokio::hello_timeout()
}
