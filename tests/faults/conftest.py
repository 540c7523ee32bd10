"""The commands, and the table they read."""

from tests.cli.conftest import cli as cli
from tests.cli.conftest import csv_file as csv_file
