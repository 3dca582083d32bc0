package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const tick = 50 * time.Millisecond

// Clock counts the time in which this program runs, in ticks. While the process is stopped, answers wait in the kernel: by
// another clock, they would all be too late once it is continued.
type Clock struct {
	now     atomic.Int64
	mutex   sync.Mutex
	watches map[*Watch]struct{}
}

// Watch is what happens if something takes too long.
type Watch struct {
	clock  *Clock
	until  atomic.Int64 // in ticks; 0: nothing is awaited
	expire func()
}

func newClock() *Clock { return &Clock{watches: map[*Watch]struct{}{}} }

func ticks(of time.Duration) int64 { return int64(of/tick) + 1 }

// run counts: of the ticks of a time in which it did not run, Go's ticker keeps one.
func (c *Clock) run(until context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-until.Done():
			return
		case <-ticker.C:
			c.advance()
		}
	}
}

func (c *Clock) advance() {
	now := c.now.Add(1)
	var expired []*Watch
	c.mutex.Lock()
	for watch := range c.watches {
		if until := watch.until.Load(); until != 0 && until < now && watch.until.CompareAndSwap(until, 0) {
			expired = append(expired, watch)
		}
	}
	c.mutex.Unlock()
	for _, watch := range expired {
		watch.expire()
	}
}

// watch makes a watch, which the caller starts, and ends with forget. `expire` must not block.
func (c *Clock) watch(expire func()) *Watch {
	watch := &Watch{clock: c, expire: expire}
	c.mutex.Lock()
	c.watches[watch] = struct{}{}
	c.mutex.Unlock()
	return watch
}

func (w *Watch) start(limit time.Duration) { w.until.Store(w.clock.now.Load() + ticks(limit)) }

func (w *Watch) stop() { w.until.Store(0) }

func (w *Watch) forget() {
	w.clock.mutex.Lock()
	delete(w.clock.watches, w)
	w.clock.mutex.Unlock()
}
