"""`python -m spark_trickle` is the command `trickle`."""

from spark_trickle.cli.main import main

if __name__ == "__main__":
    main()
