fn main() {
    peers_async_std::echo()
}
