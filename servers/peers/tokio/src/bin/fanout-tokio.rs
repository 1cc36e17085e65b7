fn main() {
    peers_tokio::fanout()
}
