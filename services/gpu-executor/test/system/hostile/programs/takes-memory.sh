# More than it may have, in one process.
dd if=/dev/zero of=/dev/null bs=3G count=1 && echo "breached: took 3 GiB"
