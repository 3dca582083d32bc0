// Package pace waits: for points in time with a timer of the kernel, because Go's timers have steps of 1 ms, in which requests
// would be bunched; and for the caller of a load tool.
package pace

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Timer waits for one point in time after the other.
type Timer struct {
	file     *os.File
	fd       int
	expiries [8]byte
}

// NewTimer makes a timer of the kernel.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &Timer{file: os.NewFile(uintptr(fd), "timer"), fd: fd}, nil
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
	_, err := t.file.Read(t.expiries[:])
	return err
}

// Stop ends a wait, and each that would follow, with os.ErrDeadlineExceeded.
func (t *Timer) Stop() error { return t.file.SetReadDeadline(time.Unix(1, 0)) }

// Close gives the timer back to the kernel.
func (t *Timer) Close() error { return t.file.Close() }

// UntilContinued stops the process group, and returns once it is continued (SIGCONT).
func UntilContinued() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGSTOP); err != nil {
		return err
	}
	// Another thread may take the signal, and this one runs on until then.
	<-continued
	return nil
}
