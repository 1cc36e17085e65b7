package main

import (
	"sync"
	"time"
)

// spin keeps a processor busy for a time by the wall clock.
func spin(length time.Duration) {
	if length == 0 {
		return
	}
	for start := time.Now(); time.Since(start) < length; {
	}
}

// xorshift is Marsaglia's 64-bit generator; its state is never 0.
type xorshift uint64

func newXorshift(seed uint64) *xorshift {
	state := xorshift((seed + 1) * 0x9e3779b97f4a7c15) // an odd factor: only 0 gives 0
	return &state
}

func (state *xorshift) next() uint64 {
	x := *state
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*state = x
	return uint64(x)
}

// fanout starts goroutines that spin, and waits for all of them.
func fanout(command commandLine) workload {
	count := command.number("fibers")
	length := time.Duration(command.number("work_ns"))
	work := func() {
		var group sync.WaitGroup
		group.Add(count)
		for index := 0; index < count; index++ {
			go func() {
				spin(length)
				group.Done()
			}()
		}
		group.Wait()
	}
	return func(uint64) func() { return work }
}

// How many requests may wait before a stage of the pipeline until those who send more must wait:
// more than there are connections to a lane, as a rule.
const channelCapacity = 1024

// pipeline passes a request, which is the channel that resumes its connection, through every stage
// of the connection's lane.
func pipeline(command commandLine) workload {
	lanes := make([]chan chan<- struct{}, command.workers)
	for index := range lanes {
		lanes[index] = startLane(command.number("hops"))
	}
	return func(connection uint64) func() {
		lane := lanes[connection%uint64(len(lanes))]
		done := make(chan struct{}, 1)
		return func() {
			lane <- done
			<-done
		}
	}
}

func startLane(hops int) chan chan<- struct{} {
	first := make(chan chan<- struct{}, channelCapacity)
	input := first
	for ; hops > 1; hops-- {
		output := make(chan chan<- struct{}, channelCapacity)
		go func(input <-chan chan<- struct{}) {
			for request := range input {
				output <- request
			}
		}(input)
		input = output
	}
	go func() {
		for request := range input {
			request <- struct{}{}
		}
	}()
	return first
}

// imbalance spins for a short time, or with some probability for a long one.
func imbalance(command commandLine) workload {
	short := time.Duration(command.number("short_us")) * time.Microsecond
	long := time.Duration(command.number("long_us")) * time.Microsecond
	percent := uint64(command.number("long_percent"))
	return func(connection uint64) func() {
		random := newXorshift(connection)
		return func() {
			if random.next()%100 < percent {
				spin(long)
			} else {
				spin(short)
			}
		}
	}
}

// contended spins in turn: under one mutex, or while a flag is set that a condition variable guards.
func contended(command commandLine) workload {
	length := time.Duration(command.number("hold_ns"))
	var mutex sync.Mutex
	work := func() {
		mutex.Lock()
		spin(length)
		mutex.Unlock()
	}
	if command.values["mode"] == "condition" {
		work = takeTurns(&mutex, length)
	}
	return func(uint64) func() { return work }
}

func takeTurns(mutex *sync.Mutex, length time.Duration) func() {
	condition := sync.NewCond(mutex)
	busy := false
	return func() {
		mutex.Lock()
		for busy {
			condition.Wait()
		}
		busy = true
		mutex.Unlock()
		spin(length)
		mutex.Lock()
		busy = false
		mutex.Unlock()
		condition.Signal()
	}
}

// sleepers sleeps for each request, beside goroutines that sleep 10 to 100 ms over and over.
func sleepers(command commandLine) workload {
	for index := command.number("idle"); index > 0; index-- {
		go sleepForever(newXorshift(uint64(index)))
	}
	length := time.Duration(command.number("sleep_us")) * time.Microsecond
	work := func() { time.Sleep(length) }
	return func(uint64) func() { return work }
}

func sleepForever(random *xorshift) {
	for {
		microseconds := 10_000 + random.next()%90_001
		time.Sleep(time.Duration(microseconds) * time.Microsecond)
	}
}
