// A reference of `cargo xtask bench`: the course's flow as a careful team writes it in Go, with net/http and pgx.
// Not for use: it trusts its callers, and keeps none of the product's further promises.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	bodyLimit   = 64 * 1024
	amountLimit = 1_000_000_000_000_000
	createdAt   = "2006-01-02T15:04:05.000000Z"
)

type order struct {
	Amount      int64     `json:"amount"`
	RecipientID uuid.UUID `json:"recipient_id"`
	AccountID   uuid.UUID `json:"account_id"`
}

type payment struct {
	PaymentID   uuid.UUID `json:"payment_id"`
	Status      string    `json:"status"`
	AccountID   uuid.UUID `json:"account_id"`
	RecipientID uuid.UUID `json:"recipient_id"`
	Amount      int64     `json:"amount"`
	Currency    string    `json:"currency"`
	CreatedAt   string    `json:"created_at"`
}

var (
	errUnknownAccount = errors.New("unknown account")
	errKeyReused      = errors.New("key reused")
)

// pay runs the flow: BEGIN, INSERT of the key, SELECT … FOR UPDATE, UPDATE, INSERT of the payment, COMMIT.
func pay(ctx context.Context, pool *pgxpool.Pool, key uuid.UUID, o order) (p payment, replayed bool, err error) {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return p, false, err
	}
	defer tx.Rollback(ctx)
	id := uuid.New()
	claim, err := tx.Exec(ctx, "INSERT INTO idempotency_keys (key, payment_id) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING", key, id)
	if err != nil {
		return p, false, err
	}
	if claim.RowsAffected() == 0 {
		p, err = find(ctx, tx, key)
		if err == nil && (p.Amount != o.Amount || p.RecipientID != o.RecipientID || p.AccountID != o.AccountID) {
			err = errKeyReused
		}
		return p, true, err
	}
	var balance int64
	var currency string
	err = tx.QueryRow(ctx, "SELECT balance, currency FROM accounts WHERE id = $1 FOR UPDATE", o.AccountID).Scan(&balance, &currency)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, errUnknownAccount
	}
	if err != nil {
		return p, false, err
	}
	status := "declined"
	if balance >= o.Amount {
		status = "succeeded"
		if _, err = tx.Exec(ctx, "UPDATE accounts SET balance = balance - $2 WHERE id = $1", o.AccountID, o.Amount); err != nil {
			return p, false, err
		}
	}
	var created time.Time
	err = tx.QueryRow(ctx, "INSERT INTO payments (id, account_id, recipient_id, amount, currency, status) VALUES ($1, $2, $3, $4, $5, $6) RETURNING created_at",
		id, o.AccountID, o.RecipientID, o.Amount, currency, status).Scan(&created)
	if err != nil {
		return p, false, err
	}
	p = payment{id, status, o.AccountID, o.RecipientID, o.Amount, currency, created.UTC().Format(createdAt)}
	return p, false, tx.Commit(ctx)
}

func find(ctx context.Context, tx pgx.Tx, key uuid.UUID) (p payment, err error) {
	var created time.Time
	err = tx.QueryRow(ctx, "SELECT p.id, p.account_id, p.recipient_id, p.amount, p.currency, p.status, p.created_at FROM idempotency_keys k JOIN payments p ON p.id = k.payment_id WHERE k.key = $1", key).
		Scan(&p.PaymentID, &p.AccountID, &p.RecipientID, &p.Amount, &p.Currency, &p.Status, &created)
	p.CreatedAt = created.UTC().Format(createdAt)
	return p, err
}

func read(r *http.Request) (key uuid.UUID, o order, ok bool) {
	key, err := uuid.Parse(r.Header.Get("Idempotency-Key"))
	if err != nil {
		return key, o, false
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	if err != nil || len(body) > bodyLimit {
		return key, o, false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&o)
	return key, o, err == nil && o.Amount >= 1 && o.Amount <= amountLimit
}

func createPayment(pool *pgxpool.Pool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, o, ok := read(r)
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		p, replayed, err := pay(r.Context(), pool, key, o)
		switch {
		case errors.Is(err, errUnknownAccount):
			w.WriteHeader(http.StatusNotFound)
		case errors.Is(err, errKeyReused):
			w.WriteHeader(http.StatusUnprocessableEntity)
		case err != nil:
			log.Print(err)
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			answer(w, p, replayed)
		}
	}
}

func answer(w http.ResponseWriter, p payment, replayed bool) {
	w.Header().Set("Content-Type", "application/json")
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	if p.Status != "succeeded" {
		w.WriteHeader(http.StatusPaymentRequired)
	}
	if err := json.NewEncoder(w).Encode(p); err != nil {
		log.Print(err)
	}
}

func main() {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	// pgx's own default is the number of processors, at least four.
	if size, err := strconv.ParseInt(os.Getenv("POOL_SIZE"), 10, 32); err == nil {
		config.MaxConns = int32(size)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/payments", createPayment(pool))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), mux))
}
