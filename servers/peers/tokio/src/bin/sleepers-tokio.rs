fn main() {
    peers_tokio::sleepers()
}
