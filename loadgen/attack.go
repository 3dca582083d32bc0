// vegeta-attack is vegeta's attack on connections that are already open, with evenly spaced requests.
//
// vegeta opens connections as it needs them: once it is late, it opens one for each overdue request, which makes it
// later still. So this program first opens its connections, with a request on each, and then sends requests at the
// load's rate for a moment. Results of neither are written; those of the load are, to standard output. With
// STOP_BEFORE_LOAD in the environment, it stops its process group in between, until SIGCONT.
//
// A timer of the kernel wakes it for each request (package pace).
package main

import (
	"crypto/tls"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"loadgen/pace"
)

// In bytes. Of a response without end, or packed, vegeta would keep more than the machine's memory. The rest is read, but not in
// its count of bytes.
const mostOfBody, mostOfError = 64 << 10, 1000

// How long a request waits for the connections of others. A server with a short backlog accepts some only once it has answered.
const connectTogether = 200 * time.Millisecond

type pacer struct {
	timer *pace.Timer
	began time.Time
	rate  float64
	most  uint64
}

func (p *pacer) Rate(time.Duration) float64 { return p.rate }

// Pace waits until the next request is due. It leaves vegeta nothing to wait for, because that would use Go's timers.
func (p *pacer) Pace(_ time.Duration, sent uint64) (time.Duration, bool) {
	if sent == 0 {
		p.began = time.Now()
	}
	if sent < p.most {
		check(p.timer.Until(p.began.Add(time.Duration(float64(sent) / p.rate * float64(time.Second)))))
	}
	return 0, sent >= p.most
}

func check(err error) {
	if err != nil {
		log.Fatal("vegeta-attack: ", err)
	}
}

func main() {
	rate := flag.Float64("rate", 0, "requests per second")
	duration := flag.Duration("duration", 0, "how long to send them")
	settle := flag.Duration("settle", 0, "how long to send them beforehand, without results")
	open := flag.Int("open", 0, "number of connections to open beforehand")
	connections := flag.Int("max-connections", 0, "highest number of connections")
	workers := flag.Uint64("max-workers", 0, "highest number of requests in flight")
	timeout := flag.Duration("timeout", 0, "how long to wait for a response")
	keepalive := flag.Bool("keepalive", true, "send several requests on a connection")
	file := flag.String("body", "", "file with the JSON body of each request")
	flag.Parse()

	body, header := []byte(nil), http.Header{}
	if *file != "" {
		var err error
		body, err = os.ReadFile(*file)
		check(err)
		header.Set("Content-Type", "application/json")
	}
	targets, err := vegeta.ReadAllTargets(vegeta.NewHTTPTargeter(os.Stdin, body, header))
	check(err)
	client := &http.Client{
		Timeout: *timeout,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: *connections,
			MaxConnsPerHost:     *connections,
			DisableKeepAlives:   !*keepalive,
			// As the other load tools: no certificate is verified. It also keeps to HTTP/1.1, by Go's rule for own settings.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	timer, err := pace.NewTimer()
	check(err)
	attack := func(during, limit time.Duration) <-chan *vegeta.Result {
		attacker := vegeta.NewAttacker(vegeta.Client(client), vegeta.MaxWorkers(*workers), vegeta.MaxBody(mostOfBody))
		evenly := &pacer{timer: timer, rate: *rate, most: uint64(*rate*during.Seconds() + 0.5)}
		return attacker.Attack(vegeta.NewStaticTargeter(targets...), evenly, limit, "")
	}

	// No request is sent before each has a connection: the first to be answered would lend its own to those that follow.
	var opening, connecting sync.WaitGroup
	connecting.Add(*open)
	connected := make(chan struct{})
	go func() { connecting.Wait(); close(connected) }()
	for i := range *open {
		request, err := targets[i%len(targets)].Request()
		check(err)
		opening.Add(1)
		go func() {
			defer opening.Done()
			var once sync.Once
			done := func() { once.Do(connecting.Done) }
			defer done()
			trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
				done()
				select {
				case <-connected:
				case <-time.After(connectTogether):
				}
			}}
			request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
			// What fails here also fails in the load, where it counts.
			if response, err := client.Do(request); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		}()
	}
	opening.Wait()
	// All of them, as bench/tools/vegeta.py counts them all, although a client that stalls then takes longer.
	for range attack(*settle, *settle+time.Second) {
	}
	if os.Getenv("STOP_BEFORE_LOAD") != "" {
		check(pace.UntilContinued())
	}
	results := vegeta.NewEncoder(os.Stdout)
	for result := range attack(*duration, *duration) {
		result.Body, result.Headers = nil, nil
		// It may quote what the service sent: a status line of 60 KB in each response.
		result.Error = result.Error[:min(len(result.Error), mostOfError)]
		check(results.Encode(result))
	}
}
