fn main() {
    peers_tokio::pipeline()
}
