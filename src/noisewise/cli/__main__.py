"""`python -m noisewise.cli`."""

from noisewise.cli import main

main()
