#!/usr/bin/env python3
"""A user's browser that agrees to everything: follows an address to its end.

usage: browser.py ADDRESS
"""
import sys
import urllib.request

urllib.request.urlopen(sys.argv[1], timeout=10).read()
