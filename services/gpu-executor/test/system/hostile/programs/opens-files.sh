# The files that are open on the whole machine are limited too.
"$NODE" -e 'for (let opened = 0; opened < 1000; opened += 1) require("fs").openSync("/dev/null")' && echo "breached: opened 1000 files"
