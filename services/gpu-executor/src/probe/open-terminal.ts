import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { call } from './attack.ts';

const PAIRS = '/dev/ptmx';
const [UNLOCK, NUMBER] = [0x4004_5431, 0x8004_5430];

/** A terminal of the user of this process, as that of somebody who is signed in. Null where there are none. */
export const openTerminal = (): { readonly path: string; readonly close: () => void } | null => {
  if (!existsSync(PAIRS)) return null;
  try {
    const other = openSync(PAIRS, constants.O_RDWR | constants.O_NOCTTY);
    const number = Buffer.alloc(4);
    if (call('ioctl', other, UNLOCK, Buffer.alloc(4)) < 0 || call('ioctl', other, NUMBER, number) < 0) {
      closeSync(other);
      return null;
    }
    return { path: `/dev/pts/${number.readUInt32LE()}`, close: () => closeSync(other) };
  } catch {
    return null;
  }
};
