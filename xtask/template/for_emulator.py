"""Rewrites a built template for the local emulator that the rehearsal deploys to: for_emulator.py <built> <rewritten>.

Two things differ from what AWS gets, and nothing else:
- CodeDeploy is off. The emulator knows no CodeDeploy, and its SAM translation sees defaults only, not the parameters
  of a deployment, so the default is changed.
- The alarm on the rate of 5xx watches their number. The emulator computes no metric from others.
"""

import json
import sys
from pathlib import Path

from samtranslator.yaml_helper import yaml_parse


def rewritten(template: dict) -> dict:
    template["Parameters"]["GradualDeployment"]["Default"] = "false"
    alarm = template["Resources"]["ServerErrorAlarm"]["Properties"]
    errors = next(each for each in alarm.pop("Metrics") if each["Id"] == "errors")["MetricStat"]
    alarm |= errors["Metric"] | {"Period": errors["Period"], "Statistic": errors["Stat"]}
    return template


if __name__ == "__main__":
    built, target = (Path(argument) for argument in sys.argv[1:])
    # JSON is YAML.
    target.write_text(json.dumps(rewritten(yaml_parse(built.read_text())), indent=2, default=str))
