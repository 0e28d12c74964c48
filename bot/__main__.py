"""`python -m bot` is `slackquery`."""

from bot.cli import main

if __name__ == "__main__":
    main()
