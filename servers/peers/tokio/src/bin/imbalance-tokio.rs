fn main() {
    peers_tokio::imbalance()
}
