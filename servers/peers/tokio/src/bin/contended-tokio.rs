fn main() {
    peers_tokio::contended()
}
