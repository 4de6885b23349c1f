/** What a system call says, Python, Node, Go, C++ and Rust. */
const NO_SPACE = /No space left on device|\bENOSPC\b|\[Errno 28\]/i;

/** Why a program found no room to write; null when it does not say so. */
export const noRoomIn = (text: string, temporaryBytes: number | null): string | null =>
  temporaryBytes !== null && NO_SPACE.test(text)
    ? `If that was in /tmp, which is in memory and has ${mib(temporaryBytes)}: ${WHAT_TO_DO}.`
    : null;

export const isFull = (temporaryBytes: number): string =>
  `the /tmp of ${mib(temporaryBytes)} is full: ${WHAT_TO_DO}`;

const WHAT_TO_DO = 'write to $TMPDIR, which is on disk, or let the operator raise EXECUTOR_RUN_TMP_BYTES';

const mib = (bytes: number): string => `${Number((bytes / 1024 ** 2).toFixed(1))} MiB`;
