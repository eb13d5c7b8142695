#!/bin/sh
# An editor for the scripts: goes on writing a draft, renames a mark of a
# template, and breaks a template that was renamed before.
case $1 in
*.md) printf ' And the day after?\n' >>"$1" ;;
*)
	if grep -q im_begin "$1"; then
		sed 's/{%/{% oops/' "$1" >"$1.new"
	else
		sed 's/im_start/im_begin/g' "$1" >"$1.new"
	fi
	mv "$1.new" "$1"
	;;
esac
