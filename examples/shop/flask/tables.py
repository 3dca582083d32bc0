"""The shop's tables, and where they are."""

import os

from sqlalchemy import ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


def database() -> str:
    """Its URL for SQLAlchemy, with the driver."""
    return os.environ["SHOP_DATABASE"].replace("postgresql://", "postgresql+psycopg2://", 1)


class Base(DeclarativeBase):
    """What SQLAlchemy collects the tables in."""


class Product(Base):
    """What is sold."""

    __tablename__ = "product"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    category: Mapped[str] = mapped_column(index=True)
    cents: Mapped[int]


class Order(Base):
    """Who ordered what."""

    __tablename__ = "shop_order"
    id: Mapped[int] = mapped_column(primary_key=True)
    user_name: Mapped[str]
    product_id: Mapped[int] = mapped_column(ForeignKey(Product.id), index=True)
    count: Mapped[int]
