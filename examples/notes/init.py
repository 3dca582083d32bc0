"""Makes the database with a thousand notes: `--before 'python3 init.py'`."""

from main import database, file

file.parent.mkdir(exist_ok=True)
file.unlink(missing_ok=True)
with database() as db, db:
    # Readers then do not wait for a writer.
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    db.executemany("INSERT INTO note (text) VALUES (?)", ((f"Note {number}",) for number in range(1, 1001)))
