# New namespaces, mounts and roots would bring back what is hidden.
unshare --mount true && echo "breached: made a mount namespace"
mount -t tmpfs none /tmp && echo "breached: mounted"
umount /tmp && echo "breached: unmounted"
mknod "$TMPDIR/disk" b 8 0 && echo "breached: made a device"
chroot / true && echo "breached: changed the root"
grep -E '^Cap(Prm|Eff|Inh|Amb):' /proc/self/status | grep -vE '0{16}$' && echo "breached: has a capability"
grep -E '^NoNewPrivs:.*0$' /proc/self/status && echo "breached: may get privileges"
unshare --user --map-root-user --mount sh -c 'umount -l /tmp /etc /; cat "$SEED_FILE"; chroot "/proc/$EXECUTOR_PID/root" cat "$SEED_FILE"'
