package main

import (
	"net"
	"time"
)

// protocol is one application and the parameters that it takes.
type protocol struct {
	parameters []parameter
	serve      func(patientListener, commandLine) // never returns
}

var protocols = map[string]protocol{
	"hello":         {nil, forEachConnection(hello)},
	"hello-timeout": {nil, forEachConnection(helloTimeout)},
	"echo":          {nil, forEachConnection(echo)},
	"json":          {nil, serveJSON},
	"fanout": {[]parameter{
		{name: "fibers", standard: "8", least: 1, most: 10_000},
		{name: "work_ns", standard: "0", most: 1_000_000_000},
	}, forEachRequest(fanout)},
	"pipeline": {[]parameter{
		{name: "hops", standard: "4", least: 1, most: 64},
	}, forEachRequest(pipeline)},
	"imbalance": {[]parameter{
		{name: "short_us", standard: "1", most: 10_000_000},
		{name: "long_us", standard: "1000", most: 10_000_000},
		{name: "long_percent", standard: "1", most: 100},
	}, forEachRequest(imbalance)},
	"contended": {[]parameter{
		{name: "mode", standard: "mutex", choices: []string{"mutex", "condition"}},
		{name: "hold_ns", standard: "100", most: 1_000_000_000},
	}, forEachRequest(contended)},
	"sleepers": {[]parameter{
		{name: "sleep_us", standard: "1000", most: 10_000_000},
		{name: "idle", standard: "10000", most: 1_000_000},
	}, forEachRequest(sleepers)},
}

// What every request of hello and of the workloads is answered with, whatever was read.
var response = []byte("HTTP/1.1 200 OK\nContent-Length: 12\n\nHello world!")

// The most that one read takes; a longer request is several reads and gets as many responses.
const readBufferBytes = 1024

// The longest that one read or one write may take under hello-timeout.
const operationLimit = 5 * time.Second

// forEachConnection serves each connection by a goroutine of its own.
func forEachConnection(serve func(*net.TCPConn)) func(patientListener, commandLine) {
	return func(listener patientListener, _ commandLine) {
		for {
			go serve(listener.AcceptTCP())
		}
	}
}

// workload is what is done for each request before it is answered. It is asked once a connection,
// which it is told the index of, from 0.
type workload func(connection uint64) func()

// forEachRequest answers each read of each connection after the work of a request.
func forEachRequest(start func(commandLine) workload) func(patientListener, commandLine) {
	return func(listener patientListener, command commandLine) {
		load := start(command)
		for index := uint64(0); ; index++ {
			go answerReads(listener.AcceptTCP(), load(index))
		}
	}
}

func hello(connection *net.TCPConn) { answerReads(connection, func() {}) }

func answerReads(connection *net.TCPConn, work func()) {
	defer connection.Close()
	if connection.SetNoDelay(false) != nil { // Go has set it
		return
	}
	buffer := make([]byte, readBufferBytes)
	for {
		if _, err := connection.Read(buffer); err != nil {
			return
		}
		work()
		if _, err := connection.Write(response); err != nil {
			return
		}
	}
}

func helloTimeout(connection *net.TCPConn) {
	defer connection.Close()
	if connection.SetNoDelay(false) != nil {
		return
	}
	buffer := make([]byte, readBufferBytes)
	for {
		connection.SetReadDeadline(time.Now().Add(operationLimit))
		if _, err := connection.Read(buffer); err != nil {
			return
		}
		connection.SetWriteDeadline(time.Now().Add(operationLimit))
		if _, err := connection.Write(response); err != nil {
			return
		}
	}
}

// echo keeps TCP_NODELAY, which Go has set: a write in parts must not wait for acknowledgements.
func echo(connection *net.TCPConn) {
	defer connection.Close()
	buffer := make([]byte, 4096)
	for {
		count, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err := connection.Write(buffer[:count]); err != nil {
			return
		}
	}
}
