"""An S3 server on the loopback interface for tests of lakes in stores, and the tests.

| module | contents |
|---|---|
| `s3_server` | the program: moto's S3 server, with faults that tests switch on |
| `s3` | starts the program, and the fixture `bucket` |
"""
