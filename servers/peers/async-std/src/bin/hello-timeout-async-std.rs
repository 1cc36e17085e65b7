fn main() {
    peers_async_std::hello_timeout()
}
