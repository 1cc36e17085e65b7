fn main() {
    peers_tokio::json()
}
