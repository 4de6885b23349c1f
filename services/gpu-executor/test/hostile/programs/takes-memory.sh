# More than it may have, in one process.
"$NODE" -e 'Buffer.alloc(3 * 1024 ** 3).fill(1)' && echo "breached: took 3 GiB"
