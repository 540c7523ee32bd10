"""`python -m shtarkov`: the command line."""

from shtarkov.cli import main

if __name__ == "__main__":
    main()
