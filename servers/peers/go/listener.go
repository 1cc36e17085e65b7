package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"
)

const backlogConnections = 1024

// How long a server that has no descriptor (or memory) left waits before it accepts again.
const acceptPause = 100 * time.Millisecond

// patientListener accepts until the process ends; it never reports an error.
type patientListener struct {
	*net.TCPListener
}

// listen binds with the socket options of the other peers: SO_REUSEADDR, which Go sets by itself,
// their backlog, and no keep-alive probes.
func listen(host, port string) (patientListener, error) {
	network := "tcp4"
	if strings.Contains(host, ":") {
		network = "tcp"
	}
	config := net.ListenConfig{KeepAlive: -1}
	bound, err := config.Listen(context.Background(), network, net.JoinHostPort(host, port))
	var failed *net.OpError
	if errors.As(err, &failed) {
		return patientListener{}, failed.Err
	}
	if err != nil {
		return patientListener{}, err
	}
	listener := bound.(*net.TCPListener)
	return patientListener{listener}, setBacklog(listener)
}

// setBacklog listens once more: Go always asks for the system's maximum, and the last call counts.
func setBacklog(listener *net.TCPListener) error {
	raw, err := listener.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(descriptor uintptr) {
		err = syscall.Listen(int(descriptor), backlogConnections)
	})
	if failed != nil {
		return failed
	}
	return err
}

// AcceptTCP pauses when no descriptor is left: accepting at once would fail again, without end.
func (listener patientListener) AcceptTCP() *net.TCPConn {
	for {
		connection, err := listener.TCPListener.AcceptTCP()
		if err == nil {
			return connection
		}
		time.Sleep(acceptPause)
	}
}

// Accept is AcceptTCP as net/http calls it.
func (listener patientListener) Accept() (net.Conn, error) {
	return listener.AcceptTCP(), nil
}
