"""The table the commands read."""

from tests.cli.conftest import csv_file as csv_file
