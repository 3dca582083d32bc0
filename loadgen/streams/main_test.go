package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A test that stops the process runs this file's binary as the program.
const asProgram = "STREAMS_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// load runs a load as the command line would.
func load(t *testing.T, arguments ...string) *Report {
	t.Helper()
	report, err := run(context.Background(), arguments)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// errorsOf are the kinds of errors in a report, sorted.
func errorsOf(report *Report) []string {
	var all []string
	for kind, count := range report.Errors {
		if count > 0 {
			all = append(all, kind)
		}
	}
	slices.Sort(all)
	return all
}

func expectErrors(t *testing.T, report *Report, expected ...string) {
	t.Helper()
	slices.Sort(expected)
	if found := errorsOf(report); !slices.Equal(found, expected) {
		t.Errorf("errors %v, expected %v: %v", found, expected, report.Errors)
	}
}

// try is one of ten tries of a test that measures times: in the first ones, the machine may have been busy.
type try struct{ faults []string }

func (a *try) Errorf(format string, values ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, values...))
}

func (a *try) expectNear(what string, found, expected float64) {
	if found < 0.9*expected || found > 1.1*expected {
		a.Errorf("%s is %.4f s, expected %.4f", what, found, expected)
	}
}

// onQuietMachine measures up to ten times. Such tests are not parallel: others keep the CPUs busy.
func onQuietMachine(t *testing.T, measure func(a *try)) {
	t.Helper()
	a := &try{}
	for range 10 {
		a = &try{}
		if measure(a); len(a.faults) == 0 {
			return
		}
	}
	t.Error(strings.Join(a.faults, "; "))
}

// times of this name in a report; none if it has none.
func times(report *Report, name string) *Summary {
	if summary := report.Times[name]; summary != nil {
		return summary
	}
	return &Summary{}
}

// longer counts the times of a histogram that are longer than this one.
func longer(t *testing.T, summary *Summary, than time.Duration) int64 {
	t.Helper()
	all, count := int64(0), int64(0)
	for class, value := range summary.Nanoseconds {
		all += summary.Counts[class]
		if value > int64(than)+int64(than)/1000 {
			count += summary.Counts[class]
		}
	}
	if all != summary.Count {
		t.Errorf("the histogram has %d times, its summary %d", all, summary.Count)
	}
	return count
}

// program is this program as a process of its own.
type program struct {
	*exec.Cmd
	said strings.Builder
}

func start(t *testing.T, arguments ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(os.Args[0], arguments...)}
	p.Env = append(os.Environ(), asProgram+"=1")
	p.Stdout, p.Stderr = &p.said, os.Stderr
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

func (p *program) signal(t *testing.T, number syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(number); err != nil {
		t.Fatal(err)
	}
}

// pause stops the process for this long, after it has run for that long.
func (p *program) pause(t *testing.T, after, stopped time.Duration) {
	t.Helper()
	time.Sleep(after)
	p.signal(t, syscall.SIGSTOP)
	time.Sleep(stopped)
	p.signal(t, syscall.SIGCONT)
}

func (p *program) report(t *testing.T) *Report {
	t.Helper()
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	report := &Report{}
	if err := json.Unmarshal([]byte(p.said.String()), report); err != nil {
		t.Fatalf("%v: %s", err, p.said.String())
	}
	return report
}

func nullURL(t *testing.T) string {
	server := httptest.NewServer(nullServer())
	t.Cleanup(server.Close)
	return server.URL
}

func echoURL(t *testing.T) string { return "ws" + strings.TrimPrefix(nullURL(t), "http") + "/ws/echo" }

func TestOwnStallIsInLagAndLatency(t *testing.T) {
	const rate, stall = 500, 200 * time.Millisecond
	onQuietMachine(t, func(a *try) {
		p := start(t, "websocket", "-connections", "4", "-rate", fmt.Sprint(rate), "-duration", "1s", echoURL(t))
		p.pause(t, 500*time.Millisecond, stall)
		report := p.report(t)
		expectErrors(t, report)
		if report.Units != rate {
			t.Errorf("%d messages of %d that were due", report.Units, rate)
		}
		for _, name := range []string{"lag", "latency"} {
			found := times(report, name)
			a.expectNear("the longest "+name, found.Max, stall.Seconds())
			if late := longer(t, found, stall/2); late < rate/10-10 || late > rate/10+10 {
				a.Errorf("%s: %d messages were more than %v late, expected some %d", name, late, stall/2, rate/10)
			}
		}
		if found := times(report, "sent").Percentiles["p90"]; found > stall.Seconds()/10 {
			a.Errorf("answers took %v s from when messages were sent", found)
		}
	})
}

// Events that came while this program did not run are read late, which it tells of itself.
func TestOwnStallIsInWaking(t *testing.T) {
	const stall = 200 * time.Millisecond
	url := nullURL(t) + "/sse/100/10"
	onQuietMachine(t, func(a *try) {
		p := start(t, "sse", "-open", "4", "-events", "100", "-gap", "10ms", "-duration", "1200ms", url)
		p.pause(t, 500*time.Millisecond, stall)
		report := p.report(t)
		expectErrors(t, report)
		for name, each := range map[string]time.Duration{"waking": often, "late": 10 * time.Millisecond / 4} {
			found, expected := times(report, name), int64(stall/2/each)
			a.expectNear("the longest of "+name, found.Max, stall.Seconds())
			if late := longer(t, found, stall/2); late < expected-8 || late > expected+8 {
				a.Errorf("%s: %d times were more than %v, expected some %d", name, late, stall/2, expected)
			}
		}
	})
}

func TestClosedLoopOutlivesStops(t *testing.T) {
	t.Parallel()
	p := start(t, "websocket", "-connections", "8", "-timeout", "300ms", "-duration", "2s", echoURL(t))
	p.pause(t, 200*time.Millisecond, 700*time.Millisecond)
	for range 5 {
		p.pause(t, 40*time.Millisecond, 100*time.Millisecond)
	}
	report := p.report(t)
	expectErrors(t, report)
	if report.Units < 100 || report.Times["lag"] != nil {
		t.Errorf("%d messages, and lag %v in a closed loop", report.Units, report.Times["lag"])
	}
}

func TestSIGINTEndsWithAReport(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{
		{"websocket", "-connections", "2", "-duration", "1h", echoURL(t)},
		{"websocket", "-rate", "100", "-duration", "1h", echoURL(t)},
		{"websocket", "-rate", "0.001", "-duration", "1h", echoURL(t)},
		{"sse", "-open", "2", "-events", "100000", "-gap", "10ms", "-duration", "1h", nullURL(t) + "/sse/100000/10"},
		{"sse", "-rate", "10", "-events", "100000", "-gap", "10ms", "-duration", "1h", nullURL(t) + "/sse/100000/10"},
	} {
		t.Run(strings.Join(arguments[:3], " "), func(t *testing.T) {
			t.Parallel()
			p := start(t, arguments...)
			time.Sleep(400 * time.Millisecond)
			p.signal(t, syscall.SIGINT)
			time.Sleep(time.Millisecond)
			_ = p.Process.Signal(syscall.SIGINT) // callers repeat it
			began := time.Now()
			report := p.report(t)
			if report.Units == 0 || time.Since(began) > 5*time.Second { // of -timeout 10s
				t.Errorf("%d units; it took %v to end", report.Units, time.Since(began))
			}
			expectErrors(t, report)
		})
	}
}

func TestStopsBeforeTheLoad(t *testing.T) {
	t.Parallel()
	p := start(t, "websocket", "-connections", "3", "-rate", "100", "-stop", "-duration", "100ms", echoURL(t))
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("not stopped: %v, %v", status, err)
	}
	time.Sleep(500 * time.Millisecond)
	p.signal(t, syscall.SIGCONT)
	report := p.report(t)
	expectErrors(t, report)
	if report.Units != 10 || times(report, "lag").Max > 0.4 {
		t.Errorf("%d messages, up to %v s late", report.Units, times(report, "lag").Max)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, line := range []string{
		"", "http", "websocket", "websocket -duration 1s", "websocket -duration 0s ws://a/", "websocket -duration 1s http://a/",
		"websocket -size 15 -duration 1s ws://a/", "websocket -connections 0 -duration 1s ws://a/", "sse -duration 1s ws://a/",
		"sse -rate -1 -duration 1s http://a/", "sse -events 0 -duration 1s http://a/", "sse -header x -duration 1s http://a/",
		"sse -timeout 0s -duration 1s http://a/",
	} {
		if report, err := run(context.Background(), strings.Fields(line)); err == nil {
			t.Errorf("%q gives %v", line, report)
		}
	}
}

func TestSequence(t *testing.T) {
	for _, test := range []struct {
		numbers  []int64
		expected []int
		missing  int64
	}{
		{[]int64{0, 1, 2, 3}, []int{right, right, right, right}, 0},
		{[]int64{0, 0, 1}, []int{right, doubled, right}, 2},
		{[]int64{1, 0, 3, 2}, []int{right, disorder, right, disorder}, 0},
		{[]int64{3, 4, 1, 1, 3}, []int{right, wrong, disorder, doubled, doubled}, 2},
	} {
		var sequence Sequence
		var found []int
		for _, number := range test.numbers {
			found = append(found, sequence.take(number, 4))
		}
		if !slices.Equal(found, test.expected) || sequence.missing(4) != test.missing {
			t.Errorf("%v: %v and %d missing", test.numbers, found, sequence.missing(4))
		}
	}
}

func TestTallyHasLimits(t *testing.T) {
	var tally Tally
	for i := range 3 * mostTexts {
		tally.add(fmt.Sprint(i, strings.Repeat("x", 3*longestText)))
	}
	report := tally.report()
	if len(report) != mostTexts+1 || report["others"] != 2*mostTexts {
		t.Errorf("%d texts, and %d others", len(report), report["others"])
	}
	for text := range maps.Keys(report) {
		if len(text) > longestText {
			t.Errorf("a text of %d characters", len(text))
		}
	}
}
