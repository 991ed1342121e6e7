"""The wheel is of one platform, which packaging/wheel.sh says: the program in it is compiled."""
import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Platform(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['BIGBIRD_WHEEL_PLATFORM']}"
