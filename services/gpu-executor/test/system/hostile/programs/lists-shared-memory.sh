# What another program shares between its processes has a name that cannot be guessed.
for file in /dev/shm/* $(ls /dev/shm); do
  [ "$file" != '/dev/shm/*' ] && echo "breached: found $file"
done
