"""Makes the tables and a thousand products: `--before 'python3 seed.py'`."""

from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from tables import Base, Product, database

CATEGORIES = [f"category-{number}" for number in range(49)]

engine = create_engine(database())
Base.metadata.drop_all(engine)
Base.metadata.create_all(engine)
with Session(engine) as session, session.begin():
    for number in range(1, 1001):
        category = "books" if number % 50 == 0 else CATEGORIES[number % 49]
        session.add(Product(id=number, name=f"Product {number}", category=category, cents=100 + number))
