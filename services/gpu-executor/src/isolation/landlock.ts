import { closeSync, constants, openSync, realpathSync, statSync } from 'node:fs';
import type { SystemCalls } from './system-calls.ts';

/** What a thread may open, and all that it starts. */
export interface Openable {
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  /** Folders in which files can be made and opened by name, and not be listed: other programs have some there too. */
  readonly shared: readonly string[];
  /** The same, and folders can be made and removed as well. */
  readonly scratch: readonly string[];
  /** Devices: read, write and control. */
  readonly devices: readonly string[];
  /** The ports to which it connects by TCP, at any address, and it listens on none then. Null: every port, and it may listen. */
  readonly ports: readonly number[] | null;
}

/** Of the user interface of the kernel, linux/landlock.h. Each version of it knows some more. */
const [EXECUTE, WRITE_FILE, READ_FILE, READ_DIR] = [1n << 0n, 1n << 1n, 1n << 2n, 1n << 3n];
const [REMOVE_FOLDER, REMOVE_FILE] = [1n << 4n, 1n << 5n];
const [MAKE_CHAR, MAKE_FOLDER, MAKE_REGULAR, MAKE_BLOCK] = [1n << 6n, 1n << 7n, 1n << 8n, 1n << 11n];
const [TRUNCATE, IOCTL_DEVICE] = [1n << 14n, 1n << 15n];
const FILE_BITS_OF_VERSION = [0, 13, 14, 15, 15, 16];
const TCP_SINCE = 4;
/** Binding a port, and connecting to one. */
const [BIND_TCP, CONNECT_TCP] = [1n << 0n, 1n << 1n];
const SCOPES_SINCE = 6;
/** Signals, and sockets without a file. */
const SCOPES = 0b11n;

const holdsSignals = (version: number): boolean => version >= SCOPES_SINCE;
export const holdsTcp = (version: number): boolean => version >= TCP_SINCE;

/** From now on this thread may open nothing else. What is open already stays open. */
export const obeyLandlock = (calls: SystemCalls, openable: Openable): void => {
  const version = calls.landlockVersion();
  const handled = (1n << BigInt(FILE_BITS_OF_VERSION[version] ?? FILE_BITS_OF_VERSION.at(-1) ?? 0)) - 1n;
  const holdsPorts = holdsTcp(version) && openable.ports !== null;
  const rules = calls.createRules({
    files: handled,
    network: holdsPorts ? BIND_TCP | CONNECT_TCP : 0n,
    scopes: holdsSignals(version) ? SCOPES : 0n,
  });
  const ofFiles = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;
  const allow =
    (access: bigint) =>
    (path: string): void => {
      // Where bubblewrap has mounted it, it need not be what it is outside.
      const real = realpathSync(path);
      const descriptor = openSync(real, O_PATH);
      const possible = statSync(real).isDirectory() ? handled : handled & ofFiles;
      calls.allow(rules, access & possible, descriptor);
      closeSync(descriptor);
    };
  openable.readable.forEach(allow(EXECUTE | READ_FILE | READ_DIR));
  openable.writable.forEach(allow(handled & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEVICE)));
  const byName = READ_FILE | WRITE_FILE | REMOVE_FILE | MAKE_REGULAR | (handled & TRUNCATE);
  openable.shared.forEach(allow(byName));
  openable.scratch.forEach(allow(byName | MAKE_FOLDER | REMOVE_FOLDER));
  openable.devices.forEach(allow(READ_FILE | WRITE_FILE | READ_DIR | IOCTL_DEVICE));
  if (holdsPorts) for (const port of openable.ports ?? []) calls.allowPort(rules, CONNECT_TCP, port);
  calls.obey(rules);
  closeSync(rules);
};

/** A descriptor that only names the file. Node has no constant for it. */
const O_PATH = 0o10000000 | constants.O_NOFOLLOW;
