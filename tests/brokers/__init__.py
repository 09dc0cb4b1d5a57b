"""Real Kafka brokers for tests: no mock, no container, one set for the whole run.

Ask for a fixture; the brokers that the collected tests will need start in the background, side by side, when
the first of them is asked for, and end with the session::

    broker_431, broker_392      a `Cluster` of one node: .bootstrap, .version, .tool(), .create_topic(),
                                .produce(), .commit(), .admin; make groups of your own here and delete them freely
    broker                      both of the above, one after the other (parametrised)
    live_431, live_392          `Live`: the same brokers with groups of every type alive on them; do not
                                change these groups
    live                        both of the above (parametrised)
    secure_broker               `Secure`: 4.3.1 with an authorizer, SASL and TLS, and principals who may do little

A test that uses one of these gets the marker `broker` and runs in the worker of the other such tests; nothing
is to be marked by hand. Only a test that gets one by `request.getfixturevalue` has to say so, with the fixture's
name: `pytest.mark.broker("live_431")`; `fixtures.checked` fails where it does not.
More nodes: `Cluster("4.3.1", tmp_path, nodes=3)`, `start()`, `stop()`.

`happenings` does to groups what is not in their state, such as transactions; `offsets_topic` reads all that is left of
it in `__consumer_offsets`.

Logs of the brokers are in the temporary folder of the pytest session (`brokers-*/…/broker-1.log`).
"""
