"""``python -m bot`` is ``ascend-ci``."""

from bot.cli import main

if __name__ == "__main__":
    main()
