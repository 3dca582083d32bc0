// Package pace waits for points in time with a timer of the kernel. Go's timers have steps of 1 ms, in which requests would
// be bunched.
package pace

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Timer waits for one point in time after the other.
type Timer struct {
	file *os.File
	fd   int
}

// NewTimer makes a timer of the kernel.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &Timer{os.NewFile(uintptr(fd), "timer"), fd}, nil
}

// Until returns at this time, or at once if it has passed.
func (t *Timer) Until(due time.Time) error {
	left := time.Until(due)
	if left <= 0 {
		return nil
	}
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
	if err := unix.TimerfdSettime(t.fd, 0, &once, nil); err != nil {
		return err
	}
	return binary.Read(t.file, binary.NativeEndian, new(uint64))
}
