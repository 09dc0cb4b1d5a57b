"""`kgtui pipeline submit --print`: print the `spark-submit` command for YARN or Kubernetes."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from kgtui.commands.printing import print_text
from kgtui.commands.time_options import parse_duration, parse_time
from kgtui.errors import UsageError
from kgtui.lake.folder import LakeFolder
from kgtui.lake.store import StorePath
from kgtui.model.command_line import join

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui pipeline submit`."""
    parser.add_argument("--print", action="store_true", help="print the command (required; kgtui does not run it)")
    parser.add_argument("--lake", metavar="LAKE", required=True, help="URI of the lake, or folder that all nodes share")
    parser.add_argument("--master", metavar="URL", required=True, help="yarn, or k8s://https://HOST:PORT")
    parser.add_argument("--bootstrap-server", metavar="HOST:PORT", help="read __consumer_offsets of this cluster")
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="file with Java client properties: a local file for YARN, a file in the driver's pod for Kubernetes",
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="in the first read of __consumer_offsets, skip records before this time, such as 30d for 30 days ago",
    )
    parser.add_argument("--every", metavar="TIME", help="repeat at this interval, as kgtui pipeline watch does")
    parser.add_argument(
        "--archive",
        metavar="FILE",
        default="kgtui.tar.gz",
        help="for YARN: archive of a Python environment with kgtui[spark] (default: %(default)s)",
    )
    parser.add_argument("--image", metavar="IMAGE", help="for Kubernetes: container image with kgtui[spark]")
    parser.add_argument(
        "--executors", metavar="N", type=int, default=2, help="number of executors (default: %(default)s)"
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        default="4g",
        help="memory of the driver and of each executor (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run `kgtui pipeline submit --print` and return its exit code."""
    from kgtui.pipeline.requirements import check_pyspark

    if not args.print:
        raise UsageError("kgtui pipeline submit only prints a command: add --print, and run the printed command")
    check_pyspark()
    from kgtui.pipeline.submit import Submission, spark_submit_command

    yarn = args.master == "yarn"
    files = (args.command_config,) if args.command_config is not None and yarn else ()
    submission = Submission(
        args.master, tuple(_program(args, yarn)), files, args.archive, args.image or "", args.executors, args.memory
    )
    print_text(join(spark_submit_command(submission)) + "\n")
    return 0


def _program(args: argparse.Namespace, yarn: bool) -> list[str]:
    lake = LakeFolder.of(args.lake)
    lake.check_path()
    path = lake.path
    if not isinstance(path, StorePath) and not path.is_absolute():
        raise UsageError(f"--lake: {path} is a relative path; use a URI, or the absolute path of a shared folder")
    words = ["pipeline", "run" if args.every is None else "watch", f"--lake={path}"]
    if args.every is not None:
        parse_duration("--every", args.every)
        words.append(f"--every={args.every}")
    if args.since is not None:
        parse_time("--since", args.since, 0.0)
        words.append(f"--since={args.since}")
    if args.bootstrap_server is not None:
        words.append(f"--bootstrap-server={args.bootstrap_server}")
    if args.command_config is not None:
        words.append(f"--command-config={os.path.basename(args.command_config) if yarn else args.command_config}")
    return words
