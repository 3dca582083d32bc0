"""The same shop with FastAPI and asyncpg: a page, products, orders with a token, pictures."""

import hashlib
import hmac
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import httpx
from fastapi import Depends, FastAPI, Header, HTTPException, Request, UploadFile
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel, Field

MOST_PICTURE = 1 << 20


@asynccontextmanager
async def opened(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    """This worker's share of the database's connections, and a client for the delivery service."""
    size = max(1, int(os.environ.get("DB_POOL_TOTAL", "16")) // int(os.environ.get("WORKERS", "1")))
    async with (
        asyncpg.create_pool(os.environ["SHOP_DATABASE"], min_size=1, max_size=size) as pool,
        httpx.AsyncClient(base_url=os.environ["UPSTREAM_URL"], timeout=5) as delivery,
    ):
        yield {"pool": pool, "delivery": delivery}


app = FastAPI(lifespan=opened)
templates = Jinja2Templates(Path(__file__).with_name("templates"))


class Wanted(BaseModel):
    """What an order asks for."""

    product: int
    count: int = Field(ge=1, le=100)


def allowed(authorization: Annotated[str, Header()] = "") -> str:
    """The user of a token `Bearer NAME.SIGNATURE`; 401 where the signature is not ours."""
    name, _, signature = authorization.removeprefix("Bearer ").partition(".")
    right = hmac.new(os.environ["SHOP_SECRET"].encode(), name.encode(), "sha256").hexdigest()
    if not hmac.compare_digest(signature.encode(), right.encode()):
        raise HTTPException(401)
    return name


@app.get("/", response_class=HTMLResponse)
async def products(request: Request, category: str = "books") -> HTMLResponse:
    """A page with the products of a category."""
    found = await request.state.pool.fetch("SELECT * FROM product WHERE category = $1 ORDER BY name", category)
    return templates.TemplateResponse(request, "products.html", {"category": category, "products": found})


@app.get("/products/{number}")
async def product(request: Request, number: int) -> dict[str, Any]:
    """A product with how often it was ordered."""
    async with request.state.pool.acquire() as connection:
        found = await connection.fetchrow("SELECT id, name, category, cents FROM product WHERE id = $1", number)
        if found is None:
            raise HTTPException(404)
        orders = await connection.fetchval("SELECT count(*) FROM shop_order WHERE product_id = $1", number)
    return {**found, "orders": orders}


@app.post("/orders", status_code=201)
async def order(request: Request, wanted: Wanted, user: Annotated[str, Depends(allowed)]) -> dict[str, Any]:
    """An order of whoever has a token; the delivery service says when it comes."""
    number = await request.state.pool.fetchval(
        "INSERT INTO shop_order (user_name, product_id, count) VALUES ($1, $2, $3) RETURNING id",
        user,
        wanted.product,
        wanted.count,
    )
    answer = await request.state.delivery.get("/delay/5")
    return {"order": number, "user": user, "delivery": answer.json()}


@app.post("/pictures", status_code=201)
async def picture(picture: UploadFile) -> dict[str, Any]:
    """An uploaded picture: how large it is, and its hash."""
    data = await picture.read(MOST_PICTURE + 1)
    if len(data) > MOST_PICTURE:
        raise HTTPException(413)
    return {"name": picture.filename, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
