fn main() {
    peers_tokio::hello()
}
