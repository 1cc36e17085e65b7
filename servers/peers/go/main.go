// A peer of heddle's servers on Go's own scheduler and netpoller: one goroutine a connection.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// What this program serves, a key of `protocols`; the linker sets it.
var protocolName string

func main() {
	chosen, known := protocols[protocolName]
	if !known {
		fmt.Fprintf(os.Stderr, "built without a protocol: link with -X main.protocolName=NAME\n")
		os.Exit(1)
	}
	command := parseCommandLine(os.Args, chosen.parameters)
	runtime.GOMAXPROCS(command.workers)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	listener, err := listen(command.host, command.port)
	if err == nil {
		_, err = fmt.Printf("listening on %s\n", listener.Addr())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: cannot serve on %s: %v\n", command.program, command.address(), err)
		os.Exit(1)
	}
	go chosen.serve(listener, command)
	<-stop
}
