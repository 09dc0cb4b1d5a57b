"""Tests of decoding responses that real brokers sent.

The response of DescribeGroups v5 is from Kafka 3.9.2. All other responses are from Kafka 4.3.1.
"""

from __future__ import annotations

from kgtui.protocol.messages.cluster import API_VERSIONS
from kgtui.protocol.messages.groups import DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS

NO_OPERATIONS = -(2**31)


def raw(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


def test_describegroups_v6_reports_a_missing_group_as_not_found() -> None:
    answer = raw(
        "00000000 02 0045 16 47726f7570206e6f7065206e6f7420666f756e642e 05 6e6f7065 05 44656164 01 01 0180000000 00 00"
    )
    value = {
        "ThrottleTimeMs": 0,
        "Groups": [
            {
                "ErrorCode": 69,
                "ErrorMessage": "Group nope not found.",
                "GroupId": "nope",
                "GroupState": "Dead",
                "ProtocolType": "",
                "ProtocolData": "",
                "Members": [],
                "AuthorizedOperations": NO_OPERATIONS,
            }
        ],
    }
    assert DESCRIBE_GROUPS.response.decode(6, answer) == value
    assert DESCRIBE_GROUPS.response.encode(6, value) == answer


def test_describegroups_v5_reports_a_missing_group_as_dead() -> None:
    answer = raw("00000000 02 0000 05 6e6f7065 05 44656164 01 01 01 80000000 00 00")
    (group,) = DESCRIBE_GROUPS.response.decode(5, answer)["Groups"]
    assert (group["ErrorCode"], group["ErrorMessage"], group["GroupState"]) == (0, None, "Dead")
    assert DESCRIBE_GROUPS.response.encode(5, {"Groups": [group]}) == answer


def test_deletegroups_v2_reports_a_missing_group_as_not_found() -> None:
    answer = raw("00000000 02 05 6e6f7065 0045 00 00")
    value = DELETE_GROUPS.response.decode(2, answer)
    assert value == {
        "ThrottleTimeMs": 0,
        "Results": [{"GroupId": "nope", "ErrorCode": 69, "ErrorMessage": None}],
    }
    assert DELETE_GROUPS.response.encode(2, value) == answer


def test_requests_are_encoded_to_the_expected_bytes() -> None:
    """The expected bytes were written by hand according to Kafka's protocol guide."""
    assert LIST_GROUPS.request.encode(5, {}) == raw("01 01 00")
    assert LIST_GROUPS.request.encode(4, {"StatesFilter": ["Stable"]}) == raw("02 07 537461626c65 00")
    assert DELETE_GROUPS.request.encode(2, {"GroupsNames": ["nope"]}) == raw("02 05 6e6f7065 00")
    assert DELETE_GROUPS.request.encode(1, {"GroupsNames": ["nope"]}) == raw("00000001 0004 6e6f7065")


def test_features_in_tagged_fields_of_an_apiversions_response_are_decoded() -> None:
    """Tagged field 0 contains the supported features.

    Field 1 contains the epoch of the finalized features, and field 2 the finalized features themselves.
    """
    supported = raw("02 0e 67726f75702e76657273696f6e 0000 0001 00")
    finalized = raw("02 0e 67726f75702e76657273696f6e 0001 0001 00")
    answer = (
        raw("0000 02 0010 0000 0005 00 00000000 05")
        + bytes([0, len(supported)])
        + supported
        + raw("01 08 000000000000002a")
        + bytes([2, len(finalized)])
        + finalized
        + raw("03 01 01")
        + raw("6f 03 aabbcc")
    )
    value = API_VERSIONS.response.decode(3, answer)
    assert value["ApiKeys"] == [{"ApiKey": 16, "MinVersion": 0, "MaxVersion": 5}]
    assert value["SupportedFeatures"] == [{"Name": "group.version", "MinVersion": 0, "MaxVersion": 1}]
    assert value["FinalizedFeaturesEpoch"] == 42
    assert value["FinalizedFeatures"] == [{"Name": "group.version", "MaxVersionLevel": 1, "MinVersionLevel": 1}]
    assert value["ZkMigrationReady"] is True
    again = API_VERSIONS.response.encode(3, value)
    assert again == answer.replace(raw("00000000 05"), raw("00000000 04")).removesuffix(raw("6f 03 aabbcc"))


def test_listgroups_rows_with_unknown_states_and_types_are_decoded() -> None:
    row = {"GroupId": "g", "ProtocolType": "telepathy", "GroupState": "Levitating", "GroupType": "hive"}
    answer = LIST_GROUPS.response.encode(5, {"ErrorCode": 4711, "Groups": [row]})
    assert LIST_GROUPS.response.decode(5, answer + b"and more") == {
        "ThrottleTimeMs": 0,
        "ErrorCode": 4711,
        "Groups": [row],
    }


def test_decoding_and_encoding_preserves_group_ids_that_are_not_utf_8() -> None:
    """If the bytes changed, a delete request would name a different group from the one that the user selected."""
    body = raw("00000000 0000 02 06 ff67c328fe 01 01 01 00 00")
    (group,) = LIST_GROUPS.response.decode(5, body)["Groups"]
    assert DELETE_GROUPS.request.encode(2, {"GroupsNames": [group["GroupId"]]}) == raw("02 06 ff67c328fe 00")
