package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const mostWorkers = 1024

// commandLine is what `BINARY HOST PORT WORKERS [NAME=VALUE...]` asked for, checked.
type commandLine struct {
	program string // the binary's name without its folder
	host    string
	port    string // "0": the system chooses one
	workers int
	values  map[string]string // of every parameter of the protocol, by name
}

func (command commandLine) address() string { return net.JoinHostPort(command.host, command.port) }

// number is the value of a parameter that has a range.
func (command commandLine) number(name string) int {
	value, _ := strconv.Atoi(command.values[name])
	return value
}

// parameter is a NAME=VALUE word: one of `choices`, or a whole number from `least` to `most`.
type parameter struct {
	name     string
	standard string // what holds unless the command line says otherwise
	least    int
	most     int
	choices  []string
}

func (known parameter) allowed() string {
	if known.choices != nil {
		return strings.Join(known.choices, " or ")
	}
	return fmt.Sprintf("a whole number from %d to %d", known.least, known.most)
}

func (known parameter) allows(text string) bool {
	for _, choice := range known.choices {
		if text == choice {
			return true
		}
	}
	return known.choices == nil && isWholeNumber(text, known.least, known.most)
}

func isWholeNumber(text string, least, most int) bool {
	number, err := strconv.ParseUint(text, 10, 31)
	return err == nil && int(number) >= least && int(number) <= most
}

// parseCommandLine ends the process on bad input, with one line on standard error that says what
// was wrong and what is allowed (status 2), and on --help (status 0).
func parseCommandLine(words []string, parameters []parameter) commandLine {
	command := commandLine{program: filepath.Base(words[0]), values: map[string]string{}}
	usage := "usage: " + command.program + " HOST PORT WORKERS"
	if parameters != nil {
		usage += " [NAME=VALUE...]"
	}
	for _, known := range parameters {
		command.values[known.name] = known.standard
	}
	if err := command.take(words[1:], parameters); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s; %s\n", command.program, printable(err.Error()), usage)
		os.Exit(2)
	}
	return command
}

func (command *commandLine) take(words []string, parameters []parameter) error {
	for _, word := range words {
		if word == "--help" || word == "-h" {
			printHelp(command.program, parameters)
			os.Exit(0)
		}
		if strings.HasPrefix(word, "--") {
			return fmt.Errorf("option %s is unknown", word)
		}
	}
	for index, name := range []string{"HOST", "PORT", "WORKERS"} {
		if index >= len(words) {
			return fmt.Errorf("%s is missing", name)
		}
	}
	command.host, command.port = words[0], words[1]
	if !isWholeNumber(command.port, 0, 65535) {
		return notAllowed("PORT", command.port, "a whole number from 0 to 65535")
	}
	if !isWholeNumber(words[2], 1, mostWorkers) {
		return notAllowed("WORKERS", words[2], fmt.Sprintf("a whole number from 1 to %d", mostWorkers))
	}
	command.workers, _ = strconv.Atoi(words[2])
	if net.ParseIP(command.host) == nil {
		return notAllowed("HOST", command.host, "an address in digits such as 127.0.0.1 or ::1")
	}
	for _, word := range words[3:] {
		if err := command.takeParameter(word, parameters); err != nil {
			return err
		}
	}
	return nil
}

func (command *commandLine) takeParameter(word string, parameters []parameter) error {
	name, value, isAssignment := strings.Cut(word, "=")
	described := []string{}
	for _, known := range parameters {
		if known.name != name || !isAssignment {
			described = append(described, fmt.Sprintf("%s (%s)", known.name, known.allowed()))
			continue
		}
		if !known.allows(value) {
			return notAllowed(name, value, known.allowed())
		}
		command.values[name] = value
		return nil
	}
	if parameters == nil {
		return fmt.Errorf("\"%s\" is too much", word)
	}
	return fmt.Errorf("\"%s\" is no NAME=VALUE that is known; allowed: %s",
		word, strings.Join(described, ", "))
}

func notAllowed(name, value, allowed string) error {
	return fmt.Errorf("%s is \"%s\" but must be %s", name, value, allowed)
}

func printHelp(program string, parameters []parameter) {
	fmt.Printf("%s HOST PORT WORKERS [NAME=VALUE...]\n", program)
	fmt.Println("  HOST     IPv4 or IPv6 address in digits")
	fmt.Println("  PORT     0 to 65535; 0: the system chooses, see standard output")
	fmt.Printf("  WORKERS  GOMAXPROCS, 1 to %d\n", mostWorkers)
	for _, known := range parameters {
		fmt.Printf("  %s=%s  %s\n", known.name, known.standard, known.allowed())
	}
}

// printable keeps a line a line, whatever was typed.
func printable(text string) string {
	return strings.Map(func(letter rune) rune {
		if letter < 0x20 || letter == 0x7f {
			return '?'
		}
		return letter
	}, text)
}
