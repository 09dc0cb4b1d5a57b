"""Tests of lakes in object stores, and a local S3 server for these tests.

A lake is a folder with the Delta tables that kgtui writes.

| module | contents |
|---|---|
| `s3_server` | the server program: moto's S3 server, with faults that tests switch on |
| `s3` | starts the server program, and creates buckets in it |
"""
