"""One call of an AWS service: service, operation and parameters in JSON as arguments, the answer as JSON on standard output.

Reaches whatever AWS_ENDPOINT_URL names. Must not know what is asked or why.
"""

import json
import sys

import boto3


def plain(value):
    """What JSON has no word for: the body of an answer, a point in time."""
    return value.read().decode() if hasattr(value, "read") else str(value)


if __name__ == "__main__":
    service, operation, parameters = sys.argv[1:]
    answer = getattr(boto3.client(service), operation)(**json.loads(parameters))
    print(json.dumps(answer, default=plain))
