"""Real Kafka brokers for tests. Each broker is started once per worker process of pytest-xdist.

The brokers are processes on this machine, without mocks or containers. pytest-xdist runs all tests of an xdist group in
the same worker. When a test first uses one of the fixtures below, all brokers that the tests of its xdist group need
are started together. Each broker is stopped after the last test that needs it::

    broker_431, broker_392      a `Cluster` of one node: .bootstrap, .version, .tool(), .create_topic(),
                                .produce(), .commit(), .admin; tests can create and delete groups of their own
    broker                      runs the test once with each of these two brokers, and with `--full` also with
                                brokers of the versions in `tests.jars.FULL_BROKER_VERSIONS`
    live_431, live_392          `Live`: the same brokers with live groups of every type. The groups keep their members
                                and offsets during the test run, and tests must not change them
    live                        runs the test once with the live groups on each broker that `broker` uses
    newest_live                 runs the test with the live groups on the 4.3.1 broker, and with `--full` once with
                                the live groups of each version
    secure_broker               `Secure`: a 4.3.1 broker with an authorizer, SASL (also Kerberos, with its own KDC) and
                                TLS, and principals with few permissions

Tests with these fixtures get the markers `broker` and `xdist_group`. The marker `xdist_group` makes all of them run in
the same worker, except for Spark tests, which run in another worker. A test that calls `request.getfixturevalue` must
set the marker `broker` itself, for example `pytest.mark.broker("live_431")`. A test that needs several nodes creates a
`Cluster("4.3.1", tmp_path, nodes=3)`, and calls `start()` and `stop()`.

The module `group_actions` makes unusual changes to groups, such as commits in transactions that are then aborted. The
module `offsets_topic` reads the records that brokers write to `__consumer_offsets`.

The brokers' logs are in the temporary folder of the pytest session (`brokers-*/…/broker-1.log`).
"""
