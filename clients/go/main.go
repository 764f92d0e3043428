// The GUTI service from Go: over gRPC with grpc-go, over REST with golang.org/x/net/http2.
package main

//go:generate ./generate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Guti is a 5G-GUTI (3GPP TS 23.003 clause 2.10).
type Guti struct {
	MCC        uint32 `json:"mcc"`
	MNC        uint32 `json:"mnc"`
	MNCDigits  uint32 `json:"mncDigits"`
	AMFRegion  uint32 `json:"amfRegion"`
	AMFSet     uint32 `json:"amfSet"`
	AMFPointer uint32 `json:"amfPointer"`
	TMSI       uint32 `json:"tmsi"`
}

func (g Guti) wellFormed() bool {
	return g.MCC <= 999 && (g.MNCDigits == 2 && g.MNC <= 99 || g.MNCDigits == 3 && g.MNC <= 999) &&
		g.AMFRegion <= 0xff && g.AMFSet <= 0x3ff && g.AMFPointer <= 0x3f && g.TMSI != 0xffffffff
}

func (g Guti) String() string {
	return fmt.Sprintf("5g-guti-%03d%0*d%02x%04x%08x",
		g.MCC, g.MNCDigits, g.MNC, g.AMFRegion, g.AMFSet<<6|g.AMFPointer, g.TMSI)
}

// client is what both protocols offer.
type client interface {
	Allocate(ctx context.Context, payload []byte) (Guti, error)
	Deallocate(ctx context.Context, guti Guti) error
	// Hang begins a call that the service does not end, and returns how its deadline ended it.
	Hang(ctx context.Context) error
	Close() error
}

// failure is how a service answered when it did not do what it was asked.
type failure struct{ code, message string }

func (f *failure) Error() string { return f.code + ": " + f.message }

func expect(err error, code string) error {
	var f *failure
	if errors.As(err, &f) && f.code == code {
		return nil
	}
	return fmt.Errorf("expected %s, not: %v", code, err)
}

func run(c client, count int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	gutis, faults := make([]Guti, count), make([]error, count)
	var calls sync.WaitGroup
	for i := range count {
		calls.Go(func() {
			gutis[i], faults[i] = c.Allocate(ctx, fmt.Appendf(nil, "registration %d", i))
		})
	}
	calls.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	different := make(map[Guti]struct{}, count)
	for _, guti := range gutis {
		if !guti.wellFormed() {
			return fmt.Errorf("%v is no GUTI", guti)
		}
		different[guti] = struct{}{}
	}
	if len(different) != count {
		return errors.New("a GUTI was allocated twice")
	}
	fmt.Printf("allocated %d GUTIs, all different; the first is %v\n", count, gutis[0])

	for _, guti := range gutis {
		if err := c.Deallocate(ctx, guti); err != nil {
			return err
		}
	}
	fmt.Printf("deallocated %d GUTIs\n", count)

	err := c.Deallocate(ctx, gutis[0])
	if unexpected := expect(err, "NotFound"); unexpected != nil {
		return unexpected
	}
	fmt.Printf("unknown GUTI: %v\n", err)

	short, cancelShort := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancelShort()
	err = c.Hang(short)
	if unexpected := expect(err, "DeadlineExceeded"); unexpected != nil {
		return unexpected
	}
	fmt.Printf("deadline of 200 ms: %v\n", err)
	return nil
}

// mutualTLS reads authority.pem, client.pem and client.key; nil, clear text, without a folder.
func mutualTLS(folder string) (*tls.Config, error) {
	if folder == "" {
		return nil, nil
	}
	authority, err := os.ReadFile(filepath.Join(folder, "authority.pem"))
	if err != nil {
		return nil, err
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "client.pem"), filepath.Join(folder, "client.key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}, nil
}

func main() {
	if err := try(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func try(arguments []string) error {
	connects := map[string]func(string, *tls.Config) (client, error){"grpc": connectGRPC, "rest": connectREST}
	if len(arguments) < 3 || len(arguments) > 4 || connects[arguments[0]] == nil {
		return errors.New("usage: guti grpc|rest HOST:PORT COUNT [CERTIFICATES]")
	}
	count, err := strconv.Atoi(arguments[2])
	if err != nil || count < 1 {
		return fmt.Errorf("COUNT must be 1 or more, not %q", arguments[2])
	}
	security, err := mutualTLS(append(arguments, "")[3])
	if err != nil {
		return err
	}
	c, err := connects[arguments[0]](arguments[1], security)
	if err != nil {
		return err
	}
	return errors.Join(run(c, count), c.Close())
}
