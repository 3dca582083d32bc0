"""Makes the tables and a thousand products: `--before 'python3 seed.py'`."""

import asyncio
import os

import asyncpg

TABLES = """
DROP TABLE IF EXISTS shop_order;
DROP TABLE IF EXISTS product;
CREATE TABLE product (id serial PRIMARY KEY, name text NOT NULL, category text NOT NULL, cents integer NOT NULL);
CREATE INDEX ON product (category);
CREATE TABLE shop_order (
    id serial PRIMARY KEY,
    user_name text NOT NULL,
    product_id integer NOT NULL REFERENCES product,
    count integer NOT NULL
);
CREATE INDEX ON shop_order (product_id);
"""


async def seed() -> None:
    """Both tables, the products in 50 categories."""
    connection = await asyncpg.connect(os.environ["SHOP_DATABASE"])
    await connection.execute(TABLES)
    rows = [
        (f"Product {number}", "books" if number % 50 == 0 else f"category-{number % 49}", 100 + number)
        for number in range(1, 1001)
    ]
    await connection.executemany("INSERT INTO product (name, category, cents) VALUES ($1, $2, $3)", rows)
    await connection.close()


asyncio.run(seed())
