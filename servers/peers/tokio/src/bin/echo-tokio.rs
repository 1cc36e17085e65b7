fn main() {
    peers_tokio::echo()
}
