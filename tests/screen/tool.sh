#!/bin/sh
# A tool for the scripts: what it answers depends on the city it is asked for.
call=$(cat)
case $call in
*Oslo*) printf '{"temp_c":4,"rain_mm":6.2}' ;;
*Evil*)
	# Everything that must not reach a terminal, and a long line.
	printf '\033]0;title\007\033[2J\033[31mred\302\2332J\302\2350;x\r\b\tend'
	printf '\342\200\256desrever\342\200\254 \342\200\250line \377\376 e\314\201 \346\227\245\346\234\254\n'
	awk 'BEGIN { for (i = 0; i < 3000; i++) printf "wide" }'
	printf '\nlast'
	;;
*Fail*)
	echo "no such place" >&2
	exit 3
	;;
*) printf 'plain text' ;;
esac
