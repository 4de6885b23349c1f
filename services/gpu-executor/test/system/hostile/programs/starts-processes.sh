# As a fork bomb does. Without a control group, the kernel limits nothing of root.
[ "$(id -u)" = 0 ] && exit
count=0
while [ $count -lt 300 ]; do
  sleep 60 &
  count=$((count + 1))
done
echo "breached: started 300 processes"
