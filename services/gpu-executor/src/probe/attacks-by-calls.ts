import { closeSync, constants, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { any, around, AT_FDCWD, call, named, opens, type Attack } from './attack.ts';

const [AF_UNIX, DATAGRAM] = [1, 2];
/** There is such a socket, of another type. */
const EPROTOTYPE = -91;
const MAX_HANDLE_BYTES = 128;
const FAN_REPORT_FID = 0x200;
const [FAN_MARK_ADD, FAN_OPEN] = [1, 0x20];

/** One of two sockets without a name, which sends to whatever path it is told. */
const pairConnects = (path: string): boolean => {
  const [pair, address] = [Buffer.alloc(8), Buffer.alloc(110)];
  address.writeUInt16LE(AF_UNIX);
  address.write(path, 2);
  if (call('socketpair', AF_UNIX, DATAGRAM, 0, pair) < 0) return false;
  const connected = call('connect', pair.readInt32LE(), address, 3 + path.length);
  return connected >= 0 || connected === EPROTOTYPE;
};

/** What names the file of a path to the kernel opens it without its path. */
const opensByHandle = (path: string): boolean => {
  const handle = Buffer.alloc(8 + MAX_HANDLE_BYTES);
  handle.writeUInt32LE(MAX_HANDLE_BYTES);
  if (call('name_to_handle_at', AT_FDCWD, path, handle, Buffer.alloc(8), 0) < 0) return false;
  const mounted = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  const opened = call('open_by_handle_at', mounted, handle, constants.O_RDONLY);
  closeSync(mounted);
  return opened >= 0;
};

const watches = (path: string): boolean =>
  [0, FAN_REPORT_FID].some((flags) => {
    const watch = call('fanotify_init', flags, constants.O_RDONLY);
    return watch >= 0 && call('fanotify_mark', watch, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, path) >= 0;
  });

/** What has no place in the language of programs: ways of the kernel to what others have. */
export const ATTACKS_BY_CALLS: readonly Attack[] = [
  {
    can: 'connect a pair of sockets to one of others by its path',
    tries: ({ outsideSocket }) => pairConnects(outsideSocket),
  },
  {
    can: 'take open files of other processes, or signal them, by a descriptor',
    tries: (target) =>
      named(target).some((pid) => {
        const descriptor = call('pidfd_open', pid, 0);
        return (
          descriptor >= 0 &&
          (call('pidfd_getfd', descriptor, 1, 0) >= 0 ||
            call('pidfd_send_signal', descriptor, 0, null, 0) >= 0)
        );
      }),
  },
  {
    can: 'find out addresses in the memory of other processes',
    tries: (target) =>
      around(target).some((pid) => call('get_robust_list', pid, Buffer.alloc(8), Buffer.alloc(8)) >= 0),
  },
  {
    can: 'change how the kernel treats other processes',
    tries: (target) =>
      any(
        around(target).flatMap((pid) =>
          ['oom_score_adj', 'coredump_filter'].map((file) => `/proc/${pid}/${file}`),
        ),
        (path) => opens(path, constants.O_WRONLY),
      ),
  },
  {
    can: 'open or watch files of others past their paths',
    tries: ({ outsideFile, shared }) =>
      any([outsideFile, join('/dev/shm', shared.memory)], opensByHandle) || any([outsideFile], watches),
  },
  {
    can: 'use semaphores and message queues of other runs',
    tries: ({ shared: { key, memory } }) =>
      call('semget', key, 0, 0) >= 0 ||
      call('msgget', key, 0) >= 0 ||
      call('mq_open', memory, constants.O_RDWR, 0, null) >= 0,
  },
  {
    can: 'use terminals of others',
    tries: ({ terminal }) =>
      any(['/dev/tty', ...(terminal === null ? [] : [terminal])], (path) => opens(path, constants.O_RDONLY)),
  },
];
