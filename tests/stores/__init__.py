"""Tests of lakes in object stores, and the S3 server on the loopback interface that the tests use.

| module | contents |
|---|---|
| `s3_server` | the program: moto's S3 server, with faults that tests switch on |
| `s3` | starts the program, and the fixture `bucket` |
"""
