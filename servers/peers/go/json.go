package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"time"
)

const requestLimit = 60 * time.Second

// The name that answers carry is as long as that of heddle's, so all answers are equally long.
const serverName = "golang"

type greeting struct {
	Message string `json:"message"`
}

// serveJSON is net/http; it keeps TCP_NODELAY, which Go has set.
func serveJSON(listener patientListener, _ commandLine) {
	server := http.Server{
		Handler:           http.HandlerFunc(answer),
		ReadHeaderTimeout: requestLimit,
		IdleTimeout:       requestLimit,
		WriteTimeout:      requestLimit,
		ErrorLog:          log.New(io.Discard, "", 0), // a client's fault is no news
	}
	server.Serve(listener)
}

func answer(writer http.ResponseWriter, request *http.Request) {
	header := writer.Header()
	header.Set("Server", serverName)
	var body []byte
	switch request.URL.Path {
	case "/json":
		header.Set("Content-Type", "application/json")
		body, _ = json.Marshal(greeting{"Hello, World!"})
	case "/plaintext":
		header.Set("Content-Type", "text/plain")
		body = []byte("Hello, World!")
	default:
		header.Set("Content-Type", "text/plain")
		writer.WriteHeader(http.StatusNotFound)
		body = []byte("Not Found\n")
	}
	writer.Write(body)
}
