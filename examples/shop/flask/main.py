"""A small shop with Flask and SQLAlchemy: a page, products, orders with a token, pictures."""

import hashlib
import hmac
import os

import urllib3
from flask import Flask, abort, jsonify, render_template, request
from flask.typing import ResponseReturnValue
from sqlalchemy import create_engine, func, insert, select
from sqlalchemy.orm import Session
from tables import Order, Product, database

MOST_PICTURE = 1 << 20

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 2 * MOST_PICTURE
pool = max(1, int(os.environ.get("DB_POOL_TOTAL", "16")) // int(os.environ.get("WORKERS", "1")))
engine = create_engine(database(), pool_size=pool, max_overflow=0)
delivery = urllib3.PoolManager(maxsize=pool, timeout=5)


@app.get("/")
def products() -> str:
    """A page with the products of a category."""
    category = request.args.get("category", "books")
    with Session(engine) as session:
        found = session.scalars(select(Product).where(Product.category == category).order_by(Product.name)).all()
        return render_template("products.html", category=category, products=found)


@app.get("/products/<int:number>")
def product(number: int) -> ResponseReturnValue:
    """A product with how often it was ordered."""
    with Session(engine) as session:
        found = session.get(Product, number) or abort(404)
        orders = session.scalar(select(func.count()).where(Order.product_id == number))
        return jsonify(id=found.id, name=found.name, category=found.category, cents=found.cents, orders=orders)


@app.post("/orders")
def order() -> ResponseReturnValue:
    """An order of whoever has a token; the delivery service says when it comes."""
    user = allowed(request.headers.get("Authorization", ""))
    wanted = request.get_json()
    product_id, count = wanted.get("product"), wanted.get("count")
    if not (isinstance(product_id, int) and isinstance(count, int) and 1 <= count <= 100):
        abort(422, "product and count (1 to 100) are needed")
    with Session(engine) as session, session.begin():
        number = session.scalar(
            insert(Order).values(user_name=user, product_id=product_id, count=count).returning(Order.id)
        )
    answer = delivery.request("GET", f"{os.environ['UPSTREAM_URL']}/delay/5").json()
    return jsonify(order=number, user=user, delivery=answer), 201


@app.post("/pictures")
def picture() -> ResponseReturnValue:
    """An uploaded picture: how large it is, and its hash."""
    file = request.files.get("picture") or abort(422, "a file 'picture' is needed")
    data = file.read(MOST_PICTURE + 1)
    if len(data) > MOST_PICTURE:
        abort(413)
    return jsonify(name=file.filename, bytes=len(data), sha256=hashlib.sha256(data).hexdigest()), 201


def allowed(header: str) -> str:
    """The user of a token `Bearer NAME.SIGNATURE`; 401 where the signature is not ours."""
    name, _, signature = header.removeprefix("Bearer ").partition(".")
    right = hmac.new(os.environ["SHOP_SECRET"].encode(), name.encode(), "sha256").hexdigest()
    if not hmac.compare_digest(signature.encode(), right.encode()):
        abort(401)
    return name
