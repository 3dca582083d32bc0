-- The tables behind the HTTP contract's database routes. Loaded once, when the image is built, in one transaction.

CREATE TABLE world (
    id integer PRIMARY KEY,
    randomnumber integer NOT NULL CHECK (randomnumber BETWEEN 1 AND 10000)
);
-- Seeded, so that every build has the same numbers.
SELECT setseed(0.5);
INSERT INTO world (id, randomnumber)
SELECT id, 1 + floor(random() * 10000)::integer FROM generate_series(1, 10000) AS id;

-- The twelve messages that TechEmpower's Fortunes test defines: one needs escaping, one is not ASCII.
CREATE TABLE fortune (
    id integer PRIMARY KEY,
    message text NOT NULL
);
INSERT INTO fortune (id, message) VALUES
    (1, 'fortune: No such file or directory'),
    (2, 'A computer scientist is someone who fixes things that aren''t broken.'),
    (3, 'After enough decimal places, nobody gives a damn.'),
    (4, 'A bad random number generator: 1, 1, 1, 1, 1, 4.33e+67, 1, 1, 1'),
    (5, 'A computer program does what you tell it to do, not what you want it to do.'),
    (6, 'Emacs is a nice operating system, but I prefer UNIX. — Tom Christaensen'),
    (7, 'Any program that runs right is obsolete.'),
    (8, 'A list is only as strong as its weakest link. — Donald Knuth'),
    (9, 'Feature: A bug with seniority.'),
    (10, 'Computers make very fast, very accurate mistakes.'),
    (11, '<script>alert("This should not be displayed in a browser alert box.");</script>'),
    (12, 'フレームワークのベンチマーク');

-- /create_data inserts here.
CREATE TABLE data (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    value text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Each start sets the password from the secret; until then, nobody can log in over the network.
-- All services share the role, so it must not let one of them stop the others: who may update only a column cannot lock the
-- table, backends of one's own role could be ended by anyone, and who chooses ids can take those of the next rows.
CREATE ROLE bench LOGIN;
GRANT SELECT, UPDATE (randomnumber) ON world TO bench;
GRANT SELECT ON fortune TO bench;
GRANT SELECT, INSERT (value) ON data TO bench;

-- For the verifier, which counts the statements that a request really sends.
CREATE EXTENSION pg_stat_statements;
GRANT pg_read_all_stats TO bench;
GRANT EXECUTE ON FUNCTION pg_stat_statements_reset TO bench;
REVOKE EXECUTE ON FUNCTION pg_terminate_backend, pg_cancel_backend FROM PUBLIC;
