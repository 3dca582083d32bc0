"""Notes with Flask, in a SQLite database in the instance folder."""

import sqlite3
from contextlib import closing
from pathlib import Path

from flask import Flask, abort, jsonify, request
from flask.typing import ResponseReturnValue

app = Flask(__name__)
file = Path(app.instance_path, "notes.db")


def database() -> closing[sqlite3.Connection]:
    """A connection, which other threads may not use."""
    return closing(sqlite3.connect(file, timeout=10))


@app.get("/notes/<int:number>")
def note(number: int) -> ResponseReturnValue:
    """A note."""
    with database() as db:
        found = db.execute("SELECT id, text FROM note WHERE id = ?", (number,)).fetchone() or abort(404)
    return jsonify(id=found[0], text=found[1])


@app.post("/notes")
def add() -> ResponseReturnValue:
    """A new note."""
    text = request.get_json().get("text") or abort(422, "a text is needed")
    with database() as db, db:
        number = db.execute("INSERT INTO note (text) VALUES (?)", (text,)).lastrowid
    return jsonify(id=number, text=text), 201
