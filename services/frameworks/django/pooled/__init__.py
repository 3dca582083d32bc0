"""Django's PostgreSQL backend with a pool of psycopg2 connections."""
